package io.holdfast.lock.internal.time;

import io.holdfast.lock.spi.TimeSource;

/**
 * The wall clock, compared with the monotonic one. {@link System#nanoTime} stands still on many
 * systems while the machine is suspended; the wall clock then jumps ahead. It can only shorten our
 * belief in a lease.
 */
public final class WallClock {
  private static final long READ_NANOS_MAX = 1_000_000;
  private static final int READS_MAX = 3;

  private WallClock() {}

  /**
   * The distance by which the wall clock is ahead of the monotonic one; only differences mean
   * something. Counted from the later of two readings around it, which errs towards doubt: a pause
   * between the readings would else hide a jump of its length.
   */
  public static long aheadNanos(TimeSource time) {
    return read(time).wallAheadNanos();
  }

  /** Both clocks; the monotonic one as it was before the wall clock was read. */
  static ClockReading read(TimeSource time) {
    for (int read = 1; ; read++) {
      long beforeNanos = time.nanos();
      long wallMillis = time.wallMillis();
      long afterNanos = time.nanos();
      if (afterNanos - beforeNanos <= READ_NANOS_MAX || read == READS_MAX) {
        return new ClockReading(beforeNanos, wallMillis * 1_000_000 - afterNanos);
      }
    }
  }
}
