package io.holdfast.lock.spring;

/**
 * Thrown by a {@link Locked} method that does not declare {@link InterruptedException} if its
 * thread is interrupted before it has the lock. The method did not run, nothing is held, and the
 * thread is interrupted still.
 */
public final class LockInterruptedException extends RuntimeException {
  private static final long serialVersionUID = 1;

  LockInterruptedException(String message, InterruptedException cause) {
    super(message, cause);
  }
}
