package io.holdfast.lock.bench;

import org.jspecify.annotations.Nullable;

/** A candidate or a server did not do what was asked of it. */
final class BenchException extends Exception {
  private static final long serialVersionUID = 1;

  BenchException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
