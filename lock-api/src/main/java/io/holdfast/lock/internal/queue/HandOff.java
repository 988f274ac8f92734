package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.grant.ActiveGrant;

/**
 * The rule that decides whether a lease may pass from one thread of a client to the next without
 * asking the store. The caller has already checked that enough time is left on the lease, and that
 * its past allows it.
 */
@FunctionalInterface
public interface HandOff {
  /** The time after which a grant is no longer handed on, so that other clients get their turn. */
  long GRANT_NANOS_MAX = ShareWindow.NANOS_MAX;

  /** No hand-off: each lease is released at the store. */
  HandOff NEVER = (grant, next, nowNanos) -> false;

  /**
   * Allows the hand-off of a renewed lease that has no minimum or maximum hold, for a limited time.
   */
  HandOff BOUNDED = (grant, next, nowNanos) -> {
    LockOptions options = grant.options();
    return options.equals(next)
        && options.isRenewed()
        && options.minHold().isZero()
        && options.maxHold().isEmpty()
        && nowNanos - grant.grantedAtNanos() < GRANT_NANOS_MAX;
  };

  /** Whether the thread that waits with these options may have the lease. Called under a mutex. */
  boolean allows(ActiveGrant grant, LockOptions next, long nowNanos);
}
