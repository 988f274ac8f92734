package io.holdfast.lock.internal;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.LockKey;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

/** A lock as {@code java.util.concurrent} knows it: the thread owns it, and no lease is seen. */
final class ThreadOwnedLock implements Lock {
  private final EngineClient client;
  private final LockKey key;
  private final LockOptions options;

  ThreadOwnedLock(EngineClient client, LockKey key, LockOptions options) {
    this.client = client;
    this.key = key;
    this.options = options;
  }

  @Override
  public void lock() {
    try {
      acquire(WaitMode.unlimitedAndUninterruptible(client.time()));
    } catch (InterruptedException e) {
      throw new AssertionError("An attempt that is not interruptible was interrupted", e);
    }
  }

  @Override
  public void lockInterruptibly() throws InterruptedException {
    acquire(WaitMode.unlimited(client.time()));
  }

  private void acquire(WaitMode mode) throws InterruptedException {
    if (!client.acquireForThread(key, options, mode)) {
      throw new AssertionError("A wait without limit ran out");
    }
  }

  @Override
  public boolean tryLock() {
    try {
      return client.acquireForThread(key, options, WaitMode.ASK_ONCE);
    } catch (InterruptedException e) {
      throw new AssertionError("An attempt that is not interruptible was interrupted", e);
    }
  }

  @Override
  public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
    Duration maxWait = Duration.ofNanos(unit.toNanos(time));
    return client.acquireForThread(key, options, WaitMode.upTo(maxWait, client.time()));
  }

  @Override
  public void unlock() {
    if (!client.closeOfThread(key, Thread.currentThread())) {
      throw new IllegalMonitorStateException("Thread '"
          + Thread.currentThread().getName()
          + "' does not own lock '"
          + key.name()
          + "' through this view");
    }
  }

  @Override
  public Condition newCondition() {
    throw new UnsupportedOperationException("A distributed lock has no conditions");
  }

  @Override
  public String toString() {
    return "Lock[" + key.name() + "]";
  }
}
