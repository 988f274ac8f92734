package io.holdfast.lock;

/** The loss of a lease. */
public interface LeaseLoss {
  /** The name of the lock. */
  String name();

  /** The token of the lost lease. */
  long token();

  /** The reason for the loss. */
  Reason reason();

  /** The reasons for which a lease can be lost. Constants may be added. */
  enum Reason {
    /** The deadline passed before a renewal was answered, or a fixed lease came to its end. */
    EXPIRED,
    /** The store no longer shows this lease as the holder. */
    TAKEN,
    /** The store's session that the lease belonged to has ended. */
    SESSION_LOST,
    /** The lease reached {@link LockOptions#maxHold()}. */
    MAX_HOLD,
    /** The client was closed. */
    CLIENT_CLOSED
  }
}
