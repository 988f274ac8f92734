package io.holdfast.lock.internal;

import io.holdfast.lock.DistributedSemaphore;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.SemaphoreClient;
import io.holdfast.lock.internal.time.Clocks;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.PermitStore;

/** The client of a store that has semaphores. */
class EngineSemaphoreClient extends EngineClient implements SemaphoreClient {
  private final PermitStore store;

  EngineSemaphoreClient(
      Engine.Settings settings, Clocks time, String clientName, Claims claims, PermitStore store) {
    super(settings, time, clientName, claims, store);
    this.store = store;
  }

  @Override
  public final DistributedSemaphore semaphore(String name, int permits) {
    return semaphore(name, permits, defaultOptions());
  }

  @Override
  public final DistributedSemaphore semaphore(String name, int permits, LockOptions options) {
    LockKey key = new LockKey(LockKind.PERMIT, name);
    if (permits < 1 || permits > Claim.PERMITS_MAX) {
      throw new IllegalArgumentException("A semaphore has 1 to %s permits, not %s (semaphore '%s')"
          .formatted(Claim.PERMITS_MAX, permits, name));
    }
    parts.checkOptions(options);
    return new EngineSemaphore(leases, store, key, permits, options);
  }
}
