package io.holdfast.lock.jdbc;

import org.jspecify.annotations.Nullable;

/** No connection could be had, so nothing was sent. */
final class NoConnectionException extends Exception {
  private static final long serialVersionUID = 1;

  private final boolean misuse;

  private NoConnectionException(boolean misuse, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.misuse = misuse;
  }

  /** None is to be had now. */
  static NoConnectionException none(String message, @Nullable Throwable cause) {
    return new NoConnectionException(false, message, cause);
  }

  /** One was to be had, and must not be used: the data source is not what Holdfast needs. */
  static NoConnectionException unfit(String message) {
    return new NoConnectionException(true, message, null);
  }

  /** Whether the data source is not what Holdfast needs. */
  boolean isMisuse() {
    return misuse;
  }
}
