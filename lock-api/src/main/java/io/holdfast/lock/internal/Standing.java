package io.holdfast.lock.internal;

import io.holdfast.lock.LeaseLoss;
import org.jspecify.annotations.Nullable;

/**
 * What is known of a tenure at one moment. Replaced as a whole, so that a renewal, an expiry and a
 * release that race each other have one winner.
 *
 * @param phase the phase
 * @param term what the store's last answer promises
 * @param lostBy why it was lost; only in {@link Phase#LOST}
 */
record Standing(Phase phase, Term term, LeaseLoss.@Nullable Reason lostBy) {

  enum Phase {
    /** The store confirmed it. */
    CONFIRMED,
    /** A renewal went unanswered, or the session is suspended; good until the deadline. */
    UNANSWERED,
    /** The wall clock ran ahead: not good until the store confirms it again. */
    SUSPECT,
    /** Its release is under way. */
    ENDING,
    /** Released. Final. */
    RELEASED,
    /** Lost. Final. */
    LOST
  }

  boolean isOver() {
    return phase == Phase.ENDING || phase == Phase.RELEASED || phase == Phase.LOST;
  }

  boolean isPast(long nowNanos) {
    return nowNanos - term.deadlineNanos() >= 0;
  }

  /** Whether the wall clock is further ahead than it may be. */
  boolean isOutrun(long wallAheadNanos) {
    return term.isOutrun(wallAheadNanos);
  }

  Standing in(Phase next) {
    return new Standing(next, term, null);
  }

  Standing confirmed(Term next) {
    return new Standing(Phase.CONFIRMED, next, null);
  }

  Standing lost(LeaseLoss.Reason reason) {
    return new Standing(Phase.LOST, term, reason);
  }
}
