package io.holdfast.lock.internal.time;

/**
 * The time that is subtracted from a lease because clocks are imperfect.
 *
 * <p>Half of it is for clocks that run at different rates (a quartz is off by less than 0.01 %, a
 * virtual machine by less than 0.1 %), half for a suspension of the machine too short for
 * {@link Clocks} to show.
 */
public final class DriftAllowance {
  private static final long DIVISOR = 50;
  private static final long NANOS_MIN = 20_000_000;

  private DriftAllowance() {}

  /**
   * Returns the allowance for a promise of the store of this length: 2 % of it, at least 20 ms, but
   * at most a quarter of it.
   */
  public static long ofNanos(long validForNanos) {
    return Math.min(validForNanos / 4, Math.max(NANOS_MIN, validForNanos / DIVISOR));
  }
}
