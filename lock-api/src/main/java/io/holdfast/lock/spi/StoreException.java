package io.holdfast.lock.spi;

import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * Thrown when a store gave no usable answer. A checked exception, so that no caller can take it for
 * "taken" or "granted" by mistake.
 */
public final class StoreException extends Exception {
  private static final long serialVersionUID = 1;

  private final boolean sent;

  /**
   * The number of permits that the store has, if the claim said another; 0 if this is not about
   * that.
   */
  private final int permitsStored;

  private StoreException(
      boolean sent, int permitsStored, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.sent = sent;
    this.permitsStored = permitsStored;
  }

  /**
   * Makes the exception for a request that certainly changed nothing: it was never sent, or the
   * store refused it.
   */
  public static StoreException refused(String message, @Nullable Throwable cause) {
    return new StoreException(false, 0, message, cause);
  }

  /** Makes the exception for a request that may have been carried out, or may yet be. */
  public static StoreException unanswered(String message, @Nullable Throwable cause) {
    return new StoreException(true, 0, message, cause);
  }

  /**
   * Makes the exception for a claim to a {@link LockKind#PERMIT} that says another number of
   * permits than the store has, while permits are held or somebody waits. The claim has nothing:
   * neither a permit nor a place.
   *
   * @param stored the number that the store has
   */
  public static StoreException permitsDiffer(Claim claim, int stored) {
    return new StoreException(
        false,
        stored,
        "The semaphore '%s' has %s permits at the store, not %s"
            .formatted(claim.key().name(), stored, claim.permits()),
        null);
  }

  /**
   * Returns the number that {@link #permitsDiffer} was made with; empty for any other exception.
   */
  public OptionalInt permitsStored() {
    return permitsStored == 0 ? OptionalInt.empty() : OptionalInt.of(permitsStored);
  }

  /** Whether the request may have been carried out, or may yet be. */
  public boolean mayHaveHappened() {
    return sent;
  }
}
