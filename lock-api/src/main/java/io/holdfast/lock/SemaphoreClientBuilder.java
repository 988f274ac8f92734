package io.holdfast.lock;

import io.holdfast.lock.spi.PermitStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;

/**
 * A builder of clients of a store that has semaphores as well as read-write locks and locks.
 *
 * @param <B> the store's own type of builder
 */
public abstract class SemaphoreClientBuilder<B extends SemaphoreClientBuilder<B>>
    extends LockClientBuilder<B> {

  /** For subclasses. */
  protected SemaphoreClientBuilder() {}

  @Override
  @CheckReturnValue
  public final SemaphoreClient build() {
    // The engine gives a store the client that it has the kinds for.
    return (SemaphoreClient) super.build();
  }

  @Override
  protected abstract PermitStore openStore(StoreSettings settings) throws StoreException;
}
