package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.grant.ActiveGrant;

/**
 * The rule that decides whether a thread that wants a read lock may share the grant of another
 * thread of its client, without asking the store.
 */
public enum Sharing {
  /** Never: each reader asks the store. */
  NEVER,
  /**
   * For a short time. With options that promise something that counts from the acquire (a fixed
   * TTL, a minimum or maximum hold), never: the promise would be kept from an earlier moment.
   */
  BOUNDED;

  /**
   * The time after which a grant lets no more readers in, counted from before it was asked for: a
   * writer that begins to wait at the store is passed for no longer.
   */
  public static final long GRANT_NANOS_MAX = 10_000_000;

  boolean allows(LockOptions options) {
    return this == BOUNDED
        && options.isRenewed()
        && options.minHold().isZero()
        && options.maxHold().isEmpty();
  }

  /** Whether the grant can be shared by a thread that comes now. Reads clocks. */
  static boolean isOpen(ActiveGrant grant, long nowNanos) {
    return nowNanos - grant.askedAtNanos() < GRANT_NANOS_MAX && grant.isFresh();
  }
}
