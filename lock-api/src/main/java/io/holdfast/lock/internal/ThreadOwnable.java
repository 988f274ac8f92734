package io.holdfast.lock.internal;

import io.holdfast.lock.AnyLease;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.Ownership;
import java.util.concurrent.locks.Lock;

/** A lock, or several, that a thread can own. */
abstract class ThreadOwnable<L extends AnyLease> extends LockVerbs<L> {
  ThreadOwnable(Leases leases, LockOptions options) {
    super(leases, options);
  }

  /** Acquires the lock for the calling thread, without a lease; false if it is taken. */
  abstract boolean acquireForThread(WaitMode mode) throws InterruptedException;

  /** Releases what the calling thread last acquired without a lease; false if there is nothing. */
  abstract boolean releaseForThread();

  /** See {@code DistributedLock.asLock()} and {@code JointLock.asLock()}. */
  public final Lock asLock() {
    if (options.ownership() != Ownership.THREAD) {
      throw new IllegalStateException(
          "Lock '" + shownName() + "' is owned by its leases; a Lock is owned by threads");
    }
    return new ThreadOwnedLock(this);
  }
}
