package io.holdfast.lock;

/** Thrown when the client was closed before or during the call. The call got no lock. */
public final class LockClientClosedException extends LockException {
  private static final long serialVersionUID = 1;

  /** Makes the exception for a call about this lock. */
  public LockClientClosedException(String lockName) {
    super(lockName, "The client of lock '" + lockName + "' is closed", null);
  }
}
