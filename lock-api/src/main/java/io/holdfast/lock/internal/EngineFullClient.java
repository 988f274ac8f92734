package io.holdfast.lock.internal;

import io.holdfast.lock.DistributedSemaphore;
import io.holdfast.lock.InMemoryLocks;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.time.Clocks;
import io.holdfast.lock.spi.PermitStore;
import io.holdfast.lock.spi.ReadWriteStore;

/** The client of a store that has read-write locks and semaphores. */
final class EngineFullClient extends EngineReadWriteClient implements InMemoryLocks.Client {
  private final PermitStore permitStore;

  EngineFullClient(
      Engine.Settings settings,
      Clocks time,
      String clientName,
      Claims claims,
      ReadWriteStore store,
      PermitStore permitStore) {
    super(settings, time, clientName, claims, store);
    this.permitStore = permitStore;
  }

  @Override
  public DistributedSemaphore semaphore(String name, int permits) {
    return semaphore(name, permits, defaultOptions());
  }

  @Override
  public DistributedSemaphore semaphore(String name, int permits, LockOptions options) {
    return EngineSemaphore.of(leases, permitStore, name, permits, options);
  }
}
