package io.holdfast.lock.internal;

import io.holdfast.lock.DistributedSemaphore;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.SemaphoreClient;
import io.holdfast.lock.internal.time.Clocks;
import io.holdfast.lock.spi.PermitStore;

/** The client of a store that has semaphores. */
final class EngineSemaphoreClient extends EngineClient implements SemaphoreClient {
  private final PermitStore store;

  EngineSemaphoreClient(
      Engine.Settings settings, Clocks time, String clientName, Claims claims, PermitStore store) {
    super(settings, time, clientName, claims, store);
    this.store = store;
  }

  @Override
  public DistributedSemaphore semaphore(String name, int permits) {
    return semaphore(name, permits, defaultOptions());
  }

  @Override
  public DistributedSemaphore semaphore(String name, int permits, LockOptions options) {
    return EngineSemaphore.of(leases, store, name, permits, options);
  }
}
