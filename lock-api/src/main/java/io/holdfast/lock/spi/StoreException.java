package io.holdfast.lock.spi;

import org.jspecify.annotations.Nullable;

/**
 * A store gave no usable answer. Checked, so that no caller forgets it: it is neither "busy" nor
 * "granted".
 */
public final class StoreException extends Exception {
  private static final long serialVersionUID = 1;

  private final boolean sent;

  private StoreException(boolean sent, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.sent = sent;
  }

  /** The request certainly changed nothing: it never left, or the store refused it. */
  public static StoreException refused(String message, @Nullable Throwable cause) {
    return new StoreException(false, message, cause);
  }

  /** The request may have been carried out, or may still be. */
  public static StoreException unanswered(String message, @Nullable Throwable cause) {
    return new StoreException(true, message, cause);
  }

  /** Whether the request may have been carried out, or may still be. */
  public boolean mayHaveHappened() {
    return sent;
  }
}
