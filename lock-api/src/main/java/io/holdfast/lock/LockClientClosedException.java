package io.holdfast.lock;

/** The client was closed before or during the call. Nothing is held. */
public final class LockClientClosedException extends LockException {
  private static final long serialVersionUID = 1;

  /** For a call about this lock. */
  public LockClientClosedException(String lockName) {
    super(lockName, "The client of lock '" + lockName + "' is closed", null);
  }
}
