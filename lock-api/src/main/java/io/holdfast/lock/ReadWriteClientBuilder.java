package io.holdfast.lock;

import io.holdfast.lock.spi.ReadWriteStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;

/**
 * A builder of clients of a store that has read-write locks as well as locks.
 *
 * @param <B> the store's own type of builder
 */
public abstract class ReadWriteClientBuilder<B extends ReadWriteClientBuilder<B>>
    extends LockClientBuilder<B> {

  /** For subclasses. */
  protected ReadWriteClientBuilder() {}

  @Override
  @CheckReturnValue
  public final ReadWriteClient build() {
    // The engine gives a store the client that it has the kinds for.
    return (ReadWriteClient) super.build();
  }

  @Override
  protected abstract ReadWriteStore openStore(StoreSettings settings) throws StoreException;
}
