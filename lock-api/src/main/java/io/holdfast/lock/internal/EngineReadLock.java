package io.holdfast.lock.internal;

import io.holdfast.lock.LockHolder;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.ReadLease;
import io.holdfast.lock.ReadLock;
import io.holdfast.lock.internal.Attempt.Outcome;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.ReadWriteStore;
import java.util.List;

/** The name and options of the shared side of a lock, bound to a client's leases. */
final class EngineReadLock extends ThreadOwnable<ReadLease> implements ReadLock {
  private final ReadWriteStore store;
  private final LockKey key;

  EngineReadLock(Leases leases, ReadWriteStore store, LockKey key, LockOptions options) {
    super(leases, options);
    this.store = store;
    this.key = key;
  }

  /**
   * Checks the options of reads.
   *
   * @throws IllegalArgumentException they have a minimum hold: that of one reader would keep the
   *     name taken for writers, and not for readers
   */
  static void checkOptions(LockOptions options) {
    if (!options.minHold().isZero()) {
      throw new IllegalArgumentException("A read has no minimum hold, these options have one of "
          + options.minHold()
          + ": remove it, or give it to the write lock alone with write().with(options)");
    }
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
  public ReadLock with(LockOptions other) {
    checkOptions(other);
    leases.parts.checkOptions(other);
    return new EngineReadLock(leases, store, key, other);
  }

  @Override
  Outcome<ReadLease> acquire(WaitMode mode) throws InterruptedException {
    return leases.acquire(request(mode), leases::read);
  }

  @Override
  boolean acquireForThread(WaitMode mode) throws InterruptedException {
    return leases.acquire(request(mode), leases::threadOwned) instanceof Attempt.Acquired;
  }

  @Override
  boolean releaseForThread() {
    return leases.closeOfThread(key, Claim.SHARED, Thread.currentThread());
  }

  private Request request(WaitMode mode) {
    return new Request(key, Claim.SHARED, options, mode);
  }

  @Override
  public boolean isHeldByCurrentThread() {
    return leases.isHeldBy(key, Claim.SHARED, Thread.currentThread());
  }

  @Override
  public List<LockHolder> holders() {
    return leases.questions.readers(store, key);
  }

  @Override
  public boolean forceRelease(long expectedToken) {
    return leases.questions.forceRelease(key, expectedToken);
  }

  @Override
  public String toString() {
    return "ReadLock[" + key.name() + ", " + options + "]";
  }
}
