package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.grant.ActiveGrant;

/**
 * The rule by which a lease may pass from one thread of a client to the next without asking the
 * store. The caller has seen to it that the store confirmed the lease lately.
 */
@FunctionalInterface
public interface HandOff {
  /** Other clients get their turn at least this often (and after the holder that is on then). */
  long GRANT_NANOS_MAX = 100_000_000;

  /** Each lease is given back to the store. */
  HandOff NEVER = (hold, next, nowNanos) -> false;

  /**
   * Only a renewed lease that was closed cleanly, that no guard was ever opened on (the store shows
   * the same owner for the next holder, so a late guard of this one would pass), and that has no
   * minimum or maximum hold of its own.
   */
  HandOff BOUNDED = (hold, next, nowNanos) -> {
    ActiveGrant grant = hold.grant();
    LockOptions options = grant.options();
    return options.equals(next)
        && options.isRenewed()
        && options.minHold().isZero()
        && options.maxHold().isEmpty()
        && !hold.detached
        && !hold.everGuarded
        && hold.handOffs() < Token.HAND_OFFS_MAX
        && nowNanos - grant.grantedAtNanos() < GRANT_NANOS_MAX;
  };

  /** Whether the thread that waits with these options may have it. Called under a mutex. */
  boolean allows(Hold hold, LockOptions next, long nowNanos);
}
