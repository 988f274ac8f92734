package io.holdfast.lock;

import org.jspecify.annotations.Nullable;

/**
 * A failure of a lock at run time. Misuse is an {@link IllegalArgumentException} or an
 * {@link IllegalStateException}.
 */
public abstract class LockException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final String lockName;

  LockException(String lockName, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.lockName = lockName;
  }

  /** The name of the lock; empty if it is about none in particular (a client that can't start). */
  public final String lockName() {
    return lockName;
  }
}
