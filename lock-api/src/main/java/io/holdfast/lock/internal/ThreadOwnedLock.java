package io.holdfast.lock.internal;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

/**
 * A lock with the interface of {@code java.util.concurrent}: the thread owns it, and there is no
 * visible lease.
 */
final class ThreadOwnedLock implements Lock {
  private final ThreadOwnable<?> lock;

  ThreadOwnedLock(ThreadOwnable<?> lock) {
    this.lock = lock;
  }

  @Override
  public void lock() {
    try {
      acquireForSure(WaitMode.unlimitedAndUninterruptible(lock.leases.parts.time()));
    } catch (InterruptedException e) {
      throw new AssertionError("An attempt that is not interruptible was interrupted", e);
    }
  }

  @Override
  public void lockInterruptibly() throws InterruptedException {
    acquireForSure(WaitMode.unlimited(lock.leases.parts.time()));
  }

  private void acquireForSure(WaitMode mode) throws InterruptedException {
    if (!lock.acquireForThread(mode)) {
      throw new AssertionError("A wait without limit ran out");
    }
  }

  @Override
  public boolean tryLock() {
    try {
      return lock.acquireForThread(WaitMode.ASK_ONCE);
    } catch (InterruptedException e) {
      throw new AssertionError("An attempt that is not interruptible was interrupted", e);
    }
  }

  @Override
  public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
    Duration maxWait = Duration.ofNanos(unit.toNanos(time));
    return lock.acquireForThread(WaitMode.upTo(maxWait, lock.leases.parts.time()));
  }

  @Override
  public void unlock() {
    if (!lock.releaseForThread()) {
      throw new IllegalMonitorStateException("Thread '%s' does not own lock '%s' through this view"
          .formatted(Thread.currentThread().getName(), lock.shownName()));
    }
  }

  @Override
  public Condition newCondition() {
    throw new UnsupportedOperationException("A distributed lock has no conditions");
  }

  @Override
  public String toString() {
    return "Lock[" + lock.shownName() + "]";
  }
}
