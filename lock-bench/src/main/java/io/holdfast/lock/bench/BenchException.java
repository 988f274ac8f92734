package io.holdfast.lock.bench;

import org.jspecify.annotations.Nullable;

/** Thrown when a candidate or a server did not do what it was asked to. */
public final class BenchException extends Exception {
  private static final long serialVersionUID = 1;

  public BenchException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
