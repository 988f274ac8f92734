package io.holdfast.lock.internal;

/**
 * What we take off a lease's time for the imperfection of clocks.
 *
 * <p>Half of the drift allowance is for clocks that run at different rates (a quartz is off by less
 * than 0.01 %, a virtual machine by less than 0.1 %), half for a suspension of the machine too
 * short for {@link WallClock} to notice.
 */
final class Margins {
  private static final long DRIFT_DIVISOR = 50;
  private static final long DRIFT_NANOS_MIN = 20_000_000;

  private Margins() {}

  /** 2 % of the time, at least 20 ms, and at most a quarter of it. */
  static long driftNanos(long validForNanos) {
    return Math.min(validForNanos / 4, Math.max(DRIFT_NANOS_MIN, validForNanos / DRIFT_DIVISOR));
  }

  /** How far the wall clock may run ahead of the monotonic one before a lease is doubted. */
  static long wallAheadNanos(long ttlNanos) {
    return driftNanos(ttlNanos) / 2;
  }
}
