package io.holdfast.lock.schedule;

/** A rule that no schedule may break. */
enum Rule {
  /** At most one of the clients has a lease that stands (L-2.1, L-4.2). */
  ONE_HOLDER,
  /** The tokens of those who hold one after the other rise (L-2.4, L-8.1, L-8.2). */
  TOKENS_RISE,
  /** A lease that is over never stands again (L-4.5, L-5.2). */
  OVER_IS_OVER,
  /**
   * The deadline is never later than "before a request that could extend it + TTL - allowance(TTL)"
   * (L-4.3).
   */
  DEADLINE_FROM_BEFORE_THE_REQUEST,
  /** The engine says of a lease what its clocks and its state say: the checks rest on that. */
  LOOKS_AGREE
}
