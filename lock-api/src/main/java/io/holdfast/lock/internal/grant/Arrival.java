package io.holdfast.lock.internal.grant;

/** The validity of a grant that just arrived. */
public enum Arrival {
  /** It is valid. */
  STANDS,
  /** The machine slept while the answer was on its way: the store must be asked. */
  SUSPECT,
  /** The store was asked, and no longer shows it. */
  GONE,
  /** Its TTL is over. */
  LAPSED,
  /** Its maximum hold is over. */
  LAPSED_AT_MAX_HOLD
}
