package io.holdfast.lock.spring.integration;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockLostException;
import java.util.ConcurrentModificationException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

/** A lock of a registry: a view of the client's lock, without state. */
final class RegistryLock implements Lock {
  private final DistributedLock lock;
  private final Lock ofThread;

  RegistryLock(DistributedLock lock) {
    this.lock = lock;
    this.ofThread = lock.asLock();
  }

  @Override
  public void lock() {
    confirmIfHeld();
    ofThread.lock();
  }

  @Override
  public void lockInterruptibly() throws InterruptedException {
    confirmIfHeld();
    ofThread.lockInterruptibly();
  }

  @Override
  public boolean tryLock() {
    confirmIfHeld();
    return ofThread.tryLock();
  }

  @Override
  public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
    confirmIfHeld();
    return ofThread.tryLock(time, unit);
  }

  /**
   * If the calling thread has the lock, asks the store whether that is still so, and throws if not.
   * A lease that is lost already, or in doubt, is left to the acquisition, which throws or asks.
   */
  private void confirmIfHeld() {
    Optional<Lease> nested = lock.isHeldByCurrentThread() ? lock.tryLock() : Optional.empty();
    if (nested.isPresent()) {
      try (Lease lease = nested.get()) {
        lease.verify();
      }
    }
  }

  @Override
  public void unlock() {
    try {
      ofThread.unlock();
    } catch (LockLostException e) {
      throw new ConcurrentModificationException(
          "The lease of lock '" + lock.name() + "' was lost before it was unlocked: another holder"
              + " may have been at work at the same time, and what the lock protects may be damaged",
          e);
    }
  }

  @Override
  public Condition newCondition() {
    throw new UnsupportedOperationException("A distributed lock has no conditions");
  }

  @Override
  public String toString() {
    return "RegistryLock[" + lock.name() + "]";
  }
}
