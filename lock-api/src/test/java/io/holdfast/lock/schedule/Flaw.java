package io.holdfast.lock.schedule;

/**
 * A deliberate mistake, made around the engine's classes: in what they are told, or in what is made
 * of what they say. The property must find each.
 */
enum Flaw {
  NONE(Rule.LOOKS_AGREE),
  /** A verification raises the deadline by what is left, less the allowance of that rest only. */
  MARGIN_OF_WHAT_IS_LEFT(Rule.ONE_HOLDER),
  /** No baseline is lowered when the wall clock is set back: the engine does not get to see it. */
  SET_BACK_HIDDEN(Rule.ONE_HOLDER),
  /** Deadlines count from the reply instead of from before the request. */
  COUNTED_FROM_THE_REPLY(Rule.ONE_HOLDER),
  /** A renewal at the store looks at no owner: it re-creates what is over. */
  RENEWAL_REVIVES(Rule.ONE_HOLDER),
  /** All holders of a grant have the grant's token. */
  TOKEN_KEPT_AT_HAND_OFF(Rule.TOKENS_RISE),
  /** The client begins anew with a lease that was over when its renewal was answered. */
  CLIENT_REVIVES(Rule.OVER_IS_OVER),
  /** As the first, found by the rule of deadlines. */
  DEADLINE_MOVED_BY_A_VERIFICATION(Rule.DEADLINE_FROM_BEFORE_THE_REQUEST),
  /** Nothing is taken off for the imperfection of clocks. */
  NO_MARGIN(Rule.ONE_HOLDER),
  /** A handed-over grant counts from the news of it. */
  HANDED_OVER_COUNTS_FROM_THE_NEWS(Rule.ONE_HOLDER),
  /** The keeper takes no samples of the wall clock. */
  NO_SAMPLES(Rule.ONE_HOLDER),
  /** The engine reads the wall clock only after the answer. */
  WALL_CLOCK_READ_AFTER_THE_ANSWER(Rule.ONE_HOLDER),
  /** A release at the store looks at no owner. */
  RELEASE_BY_NAME(Rule.ONE_HOLDER),
  /** The store's numbers do not rise. */
  NUMBERS_START_ANEW(Rule.TOKENS_RISE),
  /** An assumption is broken: the store's clock jumps by more than the allowance. */
  STORE_JUMPS_TOO_FAR(Rule.ONE_HOLDER),
  /** An assumption is broken: a suspension does not show on the wall clock. */
  SUSPENSION_UNSEEN(Rule.ONE_HOLDER);

  private final Rule broken;

  Flaw(Rule broken) {
    this.broken = broken;
  }

  /** The rule that it breaks. */
  Rule broken() {
    return broken;
  }
}
