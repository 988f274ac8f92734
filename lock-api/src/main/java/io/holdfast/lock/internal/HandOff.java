package io.holdfast.lock.internal;

import io.holdfast.lock.LockOptions;

/** When a lease may pass from one thread of a client to the next without asking the store. */
@FunctionalInterface
interface HandOff {
  /** Other clients get their turn at least this often (and after the holder that is on then). */
  long TENURE_NANOS_MAX = 100_000_000;

  HandOff NEVER = (hold, next, nowNanos) -> false;

  /**
   * Only a renewed lease that was closed cleanly, that no guard was ever opened on (the store shows
   * the same owner for the next holder, so a late guard of this one would pass), that has no
   * minimum or maximum hold of its own, and that the store confirmed lately.
   */
  HandOff BOUNDED = (hold, next, nowNanos) -> {
    Tenure tenure = hold.tenure();
    LockOptions options = tenure.options();
    return options.equals(next)
        && options.isRenewed()
        && options.minHold().isZero()
        && options.maxHold().isEmpty()
        && !hold.detached
        && !hold.everGuarded
        && hold.handOffs() < Token.HAND_OFFS_MAX
        && nowNanos - tenure.grantedAtNanos() < TENURE_NANOS_MAX
        && tenure.isFresh();
  };

  boolean allows(Hold hold, LockOptions next, long nowNanos);
}
