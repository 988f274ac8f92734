package io.holdfast.lock.internal;

import io.holdfast.lock.LeaseLoss;
import org.jspecify.annotations.Nullable;

/**
 * What is known of a tenure at one moment. Replaced as a whole, so that a renewal, an expiry and a
 * release that race each other have one winner.
 *
 * @param phase the phase
 * @param deadlineNanos when the lease ends by the monotonic clock if nothing confirms it again
 * @param wallAheadNanos how far the wall clock was ahead of the monotonic one when it was confirmed
 * @param lostBy why it was lost; only in {@link Phase#LOST}
 */
record Standing(
    Phase phase, long deadlineNanos, long wallAheadNanos, LeaseLoss.@Nullable Reason lostBy) {

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
    return nowNanos - deadlineNanos >= 0;
  }

  Standing in(Phase next) {
    return new Standing(next, deadlineNanos, wallAheadNanos, null);
  }

  Standing lost(LeaseLoss.Reason reason) {
    return new Standing(Phase.LOST, deadlineNanos, wallAheadNanos, reason);
  }
}
