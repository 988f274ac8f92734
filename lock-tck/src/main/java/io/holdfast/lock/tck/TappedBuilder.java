package io.holdfast.lock.tck;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import java.util.Objects;
import java.util.function.UnaryOperator;

/**
 * A builder of clients on a store whose calls a tap watches or changes. Use {@code new
 * TappedBuilder(myBuilder::openStore, tap)} in the package of {@code myBuilder}, where its
 * {@code openStore} can be called.
 */
public final class TappedBuilder extends LockClientBuilder<TappedBuilder> {
  private final Opener opener;
  private final UnaryOperator<LockStore> tap;

  /**
   * Makes a builder that opens stores with this opener, and passes what the tap returns for them to
   * the engine.
   */
  public TappedBuilder(Opener opener, UnaryOperator<LockStore> tap) {
    this.opener = Objects.requireNonNull(opener);
    this.tap = Objects.requireNonNull(tap);
  }

  @Override
  protected LockStore openStore(StoreSettings settings) throws StoreException {
    return tap.apply(opener.open(settings));
  }

  /** Opens a store. */
  @FunctionalInterface
  public interface Opener {
    /** Opens the store, as {@code LockClientBuilder.openStore} does. */
    LockStore open(StoreSettings settings) throws StoreException;
  }
}
