package io.holdfast.lock.internal;

import io.holdfast.lock.DistributedSemaphore;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.Ownership;
import io.holdfast.lock.PermitHolder;
import io.holdfast.lock.PermitLease;
import io.holdfast.lock.internal.Attempt.Outcome;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.PermitStore;
import java.util.List;

/** The name, number of permits and options of a semaphore, bound to a client's leases. */
final class EngineSemaphore extends LockVerbs<PermitLease> implements DistributedSemaphore {
  private final PermitStore store;
  private final LockKey key;
  private final int permits;

  /** See {@code SemaphoreClient.semaphore}. */
  static EngineSemaphore of(
      Leases leases, PermitStore store, String name, int permits, LockOptions options) {
    LockKey key = new LockKey(LockKind.PERMIT, name);
    if (permits < 1 || permits > Claim.PERMITS_MAX) {
      throw new IllegalArgumentException("A semaphore has 1 to %s permits, not %s (semaphore '%s')"
          .formatted(Claim.PERMITS_MAX, permits, name));
    }
    leases.parts.checkOptions(options);
    return new EngineSemaphore(leases, store, key, permits, options);
  }

  private EngineSemaphore(
      Leases leases, PermitStore store, LockKey key, int permits, LockOptions options) {
    super(leases, options.withOwnership(Ownership.LEASE));
    this.store = store;
    this.key = key;
    this.permits = permits;
  }

  @Override
  public String name() {
    return key.name();
  }

  @Override
  String shownName() {
    return key.name();
  }

  @Override
  public int permits() {
    return permits;
  }

  @Override
  public DistributedSemaphore with(LockOptions other) {
    leases.parts.checkOptions(other);
    return new EngineSemaphore(leases, store, key, permits, other);
  }

  @Override
  Outcome<PermitLease> acquire(WaitMode mode) throws InterruptedException {
    return leases.acquire(
        new Request(key, new Claim.Permit(permits), options, mode), leases::permit);
  }

  @Override
  public List<PermitHolder> holders() {
    return leases.questions.holders(store, key);
  }

  @Override
  public boolean forceRelease(long expectedToken) {
    return leases.questions.forceRelease(key, expectedToken);
  }

  @Override
  public String toString() {
    return "DistributedSemaphore[" + key.name() + ", " + permits + " permits, " + options + "]";
  }
}
