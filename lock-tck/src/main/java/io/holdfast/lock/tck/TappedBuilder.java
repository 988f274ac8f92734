package io.holdfast.lock.tck;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import java.util.Objects;
import java.util.function.UnaryOperator;

/**
 * A builder of clients on a store that something watches or changes: {@code new
 * TappedBuilder(myBuilder::openStore, tap)}, in the package of {@code myBuilder}, where its
 * {@code openStore} can be called.
 */
public final class TappedBuilder extends LockClientBuilder<TappedBuilder> {
  private final Opener opener;
  private final UnaryOperator<LockStore> tap;

  /** Opens stores with that opener, and hands the engine what the tap makes of them. */
  public TappedBuilder(Opener opener, UnaryOperator<LockStore> tap) {
    this.opener = Objects.requireNonNull(opener);
    this.tap = Objects.requireNonNull(tap);
  }

  @Override
  protected LockStore openStore(StoreSettings settings) throws StoreException {
    return tap.apply(opener.open(settings));
  }

  /** How a store is opened. */
  @FunctionalInterface
  public interface Opener {
    /** As {@code LockClientBuilder.openStore}. */
    LockStore open(StoreSettings settings) throws StoreException;
  }
}
