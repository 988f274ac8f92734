package io.holdfast.lock.internal.time;

import java.time.Duration;

/** Durations in nanoseconds, short enough to be added to a clock's reading. */
public final class Nanos {
  /**
   * 146 years: half of what a long can hold, so that sums with a clock's reading can still be
   * compared.
   */
  public static final long FOREVER = Long.MAX_VALUE / 2;

  private static final Duration FOREVER_DURATION = Duration.ofNanos(FOREVER);

  private Nanos() {}

  /** Returns the duration in nanoseconds, limited to the range from zero to {@link #FOREVER}. */
  public static long of(Duration duration) {
    if (duration.isNegative()) {
      return 0;
    }
    return duration.compareTo(FOREVER_DURATION) >= 0 ? FOREVER : duration.toNanos();
  }

  /** Returns the earlier of two readings of one clock, which may overflow. */
  public static long earlier(long aNanos, long bNanos) {
    return aNanos - bNanos < 0 ? aNanos : bNanos;
  }

  /** Returns the later of two readings of one clock, which may overflow. */
  public static long later(long aNanos, long bNanos) {
    return aNanos - bNanos < 0 ? bNanos : aNanos;
  }
}
