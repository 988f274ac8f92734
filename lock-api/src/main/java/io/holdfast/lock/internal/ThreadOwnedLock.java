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
    keep(client.lockUninterruptibly(key, options));
  }

  @Override
  public void lockInterruptibly() throws InterruptedException {
    keep(client.lock(key, options, Patience.unlimited(client.time())));
  }

  @Override
  public boolean tryLock() {
    return keptIfAny(client.askOnce(key, options));
  }

  @Override
  public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
    Duration maxWait = Duration.ofNanos(unit.toNanos(time));
    return keptIfAny(client.acquire(key, options, Patience.upTo(maxWait, client.time())));
  }

  @Override
  public void unlock() {
    LeaseHandle lease = client.lastLocked(key, Thread.currentThread());
    if (lease == null) {
      throw new IllegalMonitorStateException("Thread '"
          + Thread.currentThread().getName()
          + "' does not own lock '"
          + key.name()
          + "' through this view");
    }
    lease.close();
  }

  @Override
  public Condition newCondition() {
    throw new UnsupportedOperationException("A distributed lock has no conditions");
  }

  @Override
  public String toString() {
    return "Lock[" + key.name() + "]";
  }

  private boolean keptIfAny(EngineClient.Outcome outcome) {
    LeaseHandle lease = outcome.lease();
    if (lease == null) {
      return false;
    }
    keep(lease);
    return true;
  }

  private void keep(LeaseHandle lease) {
    client.rememberLocked(lease);
  }
}
