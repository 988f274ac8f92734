package io.holdfast.lock.internal;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.DistributedReadWriteLock;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.ReadLock;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.ReadWriteStore;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;

/**
 * Both sides of a lock, with the same options.
 *
 * @param read the shared side
 * @param write the exclusive side
 */
record EngineReadWriteLock(ReadLock read, DistributedLock write)
    implements DistributedReadWriteLock {

  EngineReadWriteLock(Leases leases, ReadWriteStore store, LockKey key, LockOptions options) {
    this(new EngineReadLock(leases, store, key, options), new EngineLock(leases, key, options));
  }

  @Override
  public String name() {
    return write.name();
  }

  @Override
  public LockOptions options() {
    return write.options();
  }

  @Override
  public DistributedReadWriteLock with(LockOptions options) {
    return new EngineReadWriteLock(read.with(options), write.with(options));
  }

  @Override
  public ReadWriteLock asReadWriteLock() {
    return new OfThreads(read.asLock(), write.asLock());
  }

  /** Both sides as {@code java.util.concurrent} has them. */
  private record OfThreads(Lock readLock, Lock writeLock) implements ReadWriteLock {}

  @Override
  public String toString() {
    return "DistributedReadWriteLock[" + name() + ", " + options() + "]";
  }
}
