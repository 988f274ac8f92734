package io.holdfast.lock.internal.time;

import java.time.Duration;

/** Durations in nanoseconds, short enough to be added to a clock's reading. */
public final class Nanos {
  /** 146 years: half of what a long takes, so that a sum with a clock's reading keeps its order. */
  public static final long FOREVER = Long.MAX_VALUE / 2;

  private static final Duration FOREVER_DURATION = Duration.ofNanos(FOREVER);

  private Nanos() {}

  /** The duration, cut to zero below and to {@link #FOREVER} above. */
  public static long of(Duration duration) {
    if (duration.isNegative()) {
      return 0;
    }
    return duration.compareTo(FOREVER_DURATION) >= 0 ? FOREVER : duration.toNanos();
  }

  /** The earlier of two readings of one clock, which may overflow. */
  public static long earlier(long aNanos, long bNanos) {
    return aNanos - bNanos < 0 ? aNanos : bNanos;
  }

  /** The later of two readings of one clock, which may overflow. */
  public static long later(long aNanos, long bNanos) {
    return aNanos - bNanos < 0 ? bNanos : aNanos;
  }
}
