package io.holdfast.lock.spi;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when a store gave no usable answer. A checked exception, so that no caller can take it for
 * "taken" or "granted" by mistake.
 */
public sealed class StoreException extends Exception permits PermitsDifferException {
  private static final long serialVersionUID = 1;

  private final boolean sent;

  StoreException(boolean sent, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.sent = sent;
  }

  /**
   * Makes the exception for a request that certainly changed nothing: it was never sent, or the
   * store refused it.
   */
  public static StoreException refused(String message, @Nullable Throwable cause) {
    return new StoreException(false, message, cause);
  }

  /** Makes the exception for a request that may have been carried out, or may yet be. */
  public static StoreException unanswered(String message, @Nullable Throwable cause) {
    return new StoreException(true, message, cause);
  }

  /** Whether the request may have been carried out, or may yet be. */
  public boolean mayHaveHappened() {
    return sent;
  }
}
