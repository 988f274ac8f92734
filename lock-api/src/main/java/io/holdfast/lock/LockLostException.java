package io.holdfast.lock;

/**
 * The lease ended before it was closed. Assume that another held the lock meanwhile: what was done
 * under it was possibly not exclusive.
 */
public final class LockLostException extends LockException {
  private static final long serialVersionUID = 1;

  private final long token;
  private final LeaseLoss.Reason reason;

  /** For the loss of the lease with this token. */
  public LockLostException(String lockName, long token, LeaseLoss.Reason reason) {
    super(
        lockName,
        "The lease of lock '" + lockName + "' with token " + token + " was lost: " + reason,
        null);
    this.token = token;
    this.reason = reason;
  }

  /** The token of the lost lease. */
  public long token() {
    return token;
  }

  /** Why it was lost. */
  public LeaseLoss.Reason reason() {
    return reason;
  }
}
