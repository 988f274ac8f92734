package io.holdfast.lock;

/**
 * Thrown when a lease ended before it was closed. Assume that another holder has had the lock
 * since: the work done under it may not have been exclusive.
 */
public final class LockLostException extends LockException {
  private static final long serialVersionUID = 1;

  private final long token;
  private final LeaseLoss.Reason reason;

  /** Makes the exception for the loss of the lease with this token. */
  public LockLostException(String lockName, long token, LeaseLoss.Reason reason) {
    super(
        lockName,
        "The lease of lock '" + lockName + "' with token " + token + " was lost: " + reason,
        null);
    this.token = token;
    this.reason = reason;
  }

  /** Returns the token of the lost lease. */
  public long token() {
    return token;
  }

  /** Returns the reason for the loss. */
  public LeaseLoss.Reason reason() {
    return reason;
  }
}
