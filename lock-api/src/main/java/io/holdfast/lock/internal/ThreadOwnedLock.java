package io.holdfast.lock.internal;

import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

/**
 * A lock with the interface of {@code java.util.concurrent}: the thread owns it, and there is no
 * visible lease.
 */
abstract class ThreadOwnedLock implements Lock {
  /** Acquires it for the calling thread; false if it is taken. */
  abstract boolean acquire(WaitMode mode) throws InterruptedException;

  /** Ends the thread's last acquisition through {@code asLock()}; false if it has none. */
  abstract boolean release(Thread thread);

  abstract TimeSource time();

  abstract String name();

  @Override
  public void lock() {
    try {
      acquireForSure(WaitMode.unlimitedAndUninterruptible(time()));
    } catch (InterruptedException e) {
      throw new AssertionError("An attempt that is not interruptible was interrupted", e);
    }
  }

  @Override
  public void lockInterruptibly() throws InterruptedException {
    acquireForSure(WaitMode.unlimited(time()));
  }

  private void acquireForSure(WaitMode mode) throws InterruptedException {
    if (!acquire(mode)) {
      throw new AssertionError("A wait without limit ran out");
    }
  }

  @Override
  public boolean tryLock() {
    try {
      return acquire(WaitMode.ASK_ONCE);
    } catch (InterruptedException e) {
      throw new AssertionError("An attempt that is not interruptible was interrupted", e);
    }
  }

  @Override
  public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
    Duration maxWait = Duration.ofNanos(unit.toNanos(time));
    return acquire(WaitMode.upTo(maxWait, time()));
  }

  @Override
  public void unlock() {
    if (!release(Thread.currentThread())) {
      throw new IllegalMonitorStateException("Thread '"
          + Thread.currentThread().getName()
          + "' does not own lock '"
          + name()
          + "' through this view");
    }
  }

  @Override
  public Condition newCondition() {
    throw new UnsupportedOperationException("A distributed lock has no conditions");
  }

  @Override
  public String toString() {
    return "Lock[" + name() + "]";
  }
}
