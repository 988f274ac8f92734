package io.holdfast.lock.spi;

/**
 * Thrown for a claim that says another number of permits than the store has, while permits are held
 * or somebody waits. The claim has nothing: neither a permit nor a place.
 */
public final class PermitsDifferException extends StoreException {
  private static final long serialVersionUID = 1;

  private final int stored;

  /** Makes the exception; {@code asked} is the claim's number, {@code stored} the store's. */
  public PermitsDifferException(LockKey key, int asked, int stored) {
    super(
        false,
        "The semaphore '%s' has %s permits at the store, not %s"
            .formatted(key.name(), stored, asked),
        null);
    this.stored = stored;
  }

  /** Returns the number that the store has. */
  public int stored() {
    return stored;
  }
}
