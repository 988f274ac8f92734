package io.holdfast.lock.internal;

import io.holdfast.lock.DistributedSemaphore;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.SemaphoreClient;
import io.holdfast.lock.internal.time.Clocks;
import io.holdfast.lock.spi.PermitStore;

/** The client of a store that has semaphores as well as read-write locks. */
final class EngineSemaphoreClient extends EngineReadWriteClient implements SemaphoreClient {
  private final PermitStore permitStore;

  EngineSemaphoreClient(
      Engine.Settings settings,
      Clocks time,
      String clientName,
      Claims claims,
      PermitStore permitStore) {
    super(settings, time, clientName, claims, permitStore);
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
