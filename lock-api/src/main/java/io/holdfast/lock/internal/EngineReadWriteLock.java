package io.holdfast.lock.internal;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.DistributedReadWriteLock;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.LockKey;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;

/** The read lock and the write lock of one name, and their options, bound to a client. */
final class EngineReadWriteLock implements DistributedReadWriteLock {
  private final EngineClient client;
  private final LockKey writes;
  private final LockKey reads;
  private final LockOptions options;

  EngineReadWriteLock(EngineClient client, LockKey writes, LockKey reads, LockOptions options) {
    this.client = client;
    this.writes = writes;
    this.reads = reads;
    this.options = options;
  }

  @Override
  public String name() {
    return reads.name();
  }

  @Override
  public LockOptions options() {
    return options;
  }

  @Override
  public DistributedReadWriteLock with(LockOptions other) {
    client.checkOptions(other);
    return new EngineReadWriteLock(client, writes, reads, other);
  }

  @Override
  public DistributedLock read() {
    return new EngineLock(client, reads, 1, options);
  }

  @Override
  public DistributedLock write() {
    return new EngineLock(client, writes, 1, options);
  }

  @Override
  public ReadWriteLock asReadWriteLock() {
    return new ThreadOwned(read().asLock(), write().asLock());
  }

  private record ThreadOwned(Lock readLock, Lock writeLock) implements ReadWriteLock {}

  @Override
  public String toString() {
    return "DistributedReadWriteLock[" + name() + ", " + options + "]";
  }
}
