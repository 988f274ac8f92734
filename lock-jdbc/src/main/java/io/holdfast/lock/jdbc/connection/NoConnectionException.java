package io.holdfast.lock.jdbc.connection;

import io.holdfast.lock.spi.StoreException;
import org.jspecify.annotations.Nullable;

/** Thrown when no connection could be borrowed, so that nothing was sent. */
public final class NoConnectionException extends Exception {
  private static final long serialVersionUID = 1;

  private final boolean misuse;

  private NoConnectionException(boolean misuse, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.misuse = misuse;
  }

  /** Makes the exception for a pool that gives no connection now. */
  static NoConnectionException none(String message, @Nullable Throwable cause) {
    return new NoConnectionException(false, message, cause);
  }

  /**
   * Makes the exception for a connection that must not be used: the data source is not fit for
   * Holdfast.
   */
  static NoConnectionException unfit(String message) {
    return new NoConnectionException(true, message, null);
  }

  /** Returns the store's exception for a request that was not sent for want of a connection. */
  public StoreException toStoreException() {
    return StoreException.refused(String.valueOf(getMessage()), this);
  }

  /** Whether the data source is not fit for Holdfast. */
  public boolean isMisuse() {
    return misuse;
  }
}
