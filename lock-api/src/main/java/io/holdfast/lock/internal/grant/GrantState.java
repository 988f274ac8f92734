package io.holdfast.lock.internal.grant;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.internal.time.Validity;
import org.jspecify.annotations.Nullable;

/**
 * The state of a grant at one moment, as far as this client knows. Replaced as a whole, so that
 * exactly one wins when a renewal, an expiry and a release race.
 *
 * @param phase the phase
 * @param validity the time for which the grant is trusted
 * @param changes the number of times it became uncertain or certain again: odd while it is
 *     uncertain
 * @param uncertainNanos the time from which a request must be sent for its answer to make the grant
 *     certain again; set only in {@link Phase#UNANSWERED} and {@link Phase#SUSPECT}
 * @param lostBy the reason for the loss; only in {@link Phase#LOST}
 */
public record GrantState(
    Phase phase,
    Validity validity,
    int changes,
    long uncertainNanos,
    LeaseLoss.@Nullable Reason lostBy) {

  /** The phases of a grant. */
  public enum Phase {
    /** The store confirmed the grant. */
    CONFIRMED,
    /**
     * A request about it went unanswered, or the session is suspended; trusted until the deadline.
     */
    UNANSWERED,
    /** The wall clock ran ahead: not trusted until the store confirms it again. */
    SUSPECT,
    /** The release is under way. */
    ENDING,
    /** Released. Final. */
    RELEASED,
    /** Lost. Final. */
    LOST
  }

  static GrantState granted(Validity validity) {
    return new GrantState(Phase.CONFIRMED, validity, 0, 0, null);
  }

  /** Whether the holder has released or lost the grant, or is releasing it. */
  public boolean isOver() {
    return phase == Phase.ENDING || phase == Phase.RELEASED || phase == Phase.LOST;
  }

  boolean isUncertain() {
    return phase == Phase.UNANSWERED || phase == Phase.SUSPECT;
  }

  GrantState with(Validity next) {
    return new GrantState(phase, next, changes, uncertainNanos, lostBy);
  }

  GrantState confirmed(Validity next) {
    return new GrantState(Phase.CONFIRMED, next, changes + (isUncertain() ? 1 : 0), 0, null);
  }

  GrantState uncertain(Phase next, long nowNanos) {
    return new GrantState(next, validity, changes + (isUncertain() ? 0 : 1), nowNanos, null);
  }

  GrantState ended(Phase next) {
    return new GrantState(next, validity, changes, 0, null);
  }

  GrantState lost(LeaseLoss.Reason reason) {
    return new GrantState(Phase.LOST, validity, changes, 0, reason);
  }
}
