package io.holdfast.lock.internal;

import io.holdfast.lock.DistributedSemaphore;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.Ownership;
import io.holdfast.lock.PermitHolder;
import io.holdfast.lock.PermitLease;
import io.holdfast.lock.internal.Attempt.Outcome;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import java.util.List;

/** The name, number of permits and options of a semaphore, bound to a client. */
final class EngineSemaphore extends LockVerbs<PermitLease> implements DistributedSemaphore {
  private final EngineSemaphoreClient semaphores;
  private final LockKey key;
  private final int permits;

  EngineSemaphore(EngineSemaphoreClient client, LockKey key, int permits, LockOptions options) {
    super(client, options);
    this.semaphores = client;
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
    semaphores.checkOptions(other);
    return new EngineSemaphore(semaphores, key, permits, other);
  }

  @Override
  Outcome<PermitLease> acquire(WaitMode mode) throws InterruptedException {
    // A permit belongs to no thread.
    LockOptions ofLeases = options.withOwnership(Ownership.LEASE);
    return semaphores.acquire(
        new Request(key, new Claim.Permit(permits), ofLeases, mode), semaphores::permit);
  }

  @Override
  public List<PermitHolder> holders() {
    return semaphores.questions.holders(semaphores.store, key);
  }

  @Override
  public boolean forceRelease(long expectedToken) {
    return semaphores.questions.forceRelease(key, expectedToken);
  }

  @Override
  public String toString() {
    return "DistributedSemaphore[" + key.name() + ", " + permits + " permits, " + options + "]";
  }
}
