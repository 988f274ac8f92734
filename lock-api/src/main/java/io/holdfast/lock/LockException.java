package io.holdfast.lock;

import org.jspecify.annotations.Nullable;

/**
 * The superclass of failures of a lock at run time. Misuse is reported as an
 * {@link IllegalArgumentException} or {@link IllegalStateException} instead.
 */
public abstract class LockException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final String lockName;

  LockException(String lockName, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.lockName = lockName;
  }

  /**
   * Returns the name of the lock; empty if the failure concerns no particular lock (a client that
   * can't start, for example).
   */
  public final String lockName() {
    return lockName;
  }
}
