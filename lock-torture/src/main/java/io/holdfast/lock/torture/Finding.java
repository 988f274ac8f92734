package io.holdfast.lock.torture;

/**
 * Something that must not be, or that a page says may be.
 *
 * @param name the number of the lock; negative: none
 * @param at when, by the clock of the attempts; zero: at no certain time
 * @param documented the sentence that allows it; empty: nothing does, and it is a violation
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
    /** Two leases of a name stood at one time (L-2.1). */
    TWO_HOLDERS,
    /** A later lease has no higher token (L-8.1). */
    TOKEN_FELL,
    /** A log that is written to under guard has an older token behind a newer one (L-8.9). */
    STALE_WRITE,
    /** A guarded write that was refused is there all the same (L-8.9). */
    REFUSED_WRITE_IS_THERE,
    /** A guarded write that was confirmed is not there. */
    CONFIRMED_WRITE_IS_GONE,
    /**
     * A lease that had the name for a while, however early it was closed, had it no longer (L-7.5).
     */
    MIN_HOLD_CUT_SHORT,
    /**
     * A thread that asked for what it had got neither that nor, without re-entry, "taken" (L-3.1).
     */
    REENTRY,
    /** A timed wait ended before its time, or long after it (L-6.2). */
    TIMED_WAIT,
    /** An exception that no page speaks of. */
    UNDOCUMENTED_EXCEPTION,
    /** A worker did not get every name in time after the last fault (L-9.4). */
    STUCK,
    /** The store or a worker still has something when all is over (L-10.4, L-10.5). */
    LEFT_BEHIND
  }
}
