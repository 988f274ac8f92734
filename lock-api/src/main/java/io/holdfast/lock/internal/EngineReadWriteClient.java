package io.holdfast.lock.internal;

import io.holdfast.lock.DistributedReadWriteLock;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.ReadWriteClient;
import io.holdfast.lock.internal.time.Clocks;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.ReadWriteStore;

/** The client of a store that has read-write locks. */
class EngineReadWriteClient extends EngineClient implements ReadWriteClient {
  private final ReadWriteStore store;

  EngineReadWriteClient(
      Engine.Settings settings,
      Clocks time,
      String clientName,
      Claims claims,
      ReadWriteStore store) {
    super(settings, time, clientName, claims, store);
    this.store = store;
  }

  @Override
  public final DistributedReadWriteLock readWrite(String name) {
    return readWrite(name, defaultOptions());
  }

  @Override
  public final DistributedReadWriteLock readWrite(String name, LockOptions options) {
    LockKey key = new LockKey(LockKind.MUTEX, name);
    EngineReadLock.checkOptions(options);
    parts.checkOptions(options);
    return new EngineReadWriteLock(leases, store, key, options);
  }
}
