package io.holdfast.lock;

/** The loss of a lease. */
public interface LeaseLoss {
  /** The name of the lock. */
  String name();

  /** The token of the lost lease. */
  long token();

  /** The reason. */
  Reason reason();

  /** Why a lease was lost. Constants may be added. */
  enum Reason {
    /** Its deadline passed without a renewal. */
    EXPIRED,
    /** The store no longer shows it as the holder. */
    TAKEN,
    /** The store's session that it lived in is over. */
    SESSION_LOST,
    /** It reached {@link LockOptions#maxHold()}. */
    MAX_HOLD,
    /** Its client was closed. */
    CLIENT_CLOSED
  }
}
