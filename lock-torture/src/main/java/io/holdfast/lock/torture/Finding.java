package io.holdfast.lock.torture;

/**
 * A violation of a rule, or a loss that the documentation allows.
 *
 * @param name the number of the lock; negative: none
 * @param at the time, by the clock of the attempts; zero: unknown
 * @param documented the sentence that allows it; empty: none does, and it is a violation
 */
record Finding(Rule rule, int name, long at, String text, String documented) {
  static Finding violation(Rule rule, int name, long at, String text) {
    return new Finding(rule, name, at, text, "");
  }

  boolean isViolation() {
    return documented.isEmpty();
  }

  /** The kinds of finding. */
  enum Rule {
    /** Two leases of a name were valid at one time (L-2.1). */
    TWO_HOLDERS,
    /** A later lease has no higher token (L-8.1). */
    TOKEN_FELL,
    /** A log of guarded writes has a lower token after a higher one (L-8.9). */
    STALE_WRITE,
    /** A guarded write that was refused is there all the same (L-8.9). */
    REFUSED_WRITE_IS_THERE,
    /** A guarded write that was confirmed is not there. */
    CONFIRMED_WRITE_IS_GONE,
    /** A name was granted again before the minimum hold of a lease was over (L-7.5). */
    MIN_HOLD_CUT_SHORT,
    /** A holder that asked again got neither its lease nor, without re-entry, "taken" (L-3.1). */
    REENTRY,
    /** A timed wait ended before its time, or long after it (L-6.2). */
    TIMED_WAIT,
    /** An exception that no page names. */
    UNDOCUMENTED_EXCEPTION,
    /** A worker did not get every name in time after the last fault (L-9.4). */
    STUCK,
    /** The store or a worker still has something when all is over (L-10.4, L-10.5). */
    LEFT_BEHIND
  }
}
