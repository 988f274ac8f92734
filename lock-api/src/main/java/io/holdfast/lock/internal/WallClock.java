package io.holdfast.lock.internal;

import io.holdfast.lock.spi.TimeSource;

/**
 * Compares the wall clock with the monotonic one. {@link System#nanoTime} stands still on many
 * systems while the machine is suspended; the wall clock then jumps ahead. It can only shorten our
 * belief in a lease.
 */
final class WallClock {
  private static final long READ_NANOS_MAX = 1_000_000;
  private static final int READS_MAX = 3;

  private WallClock() {}

  /** How far the wall clock is ahead of the monotonic one now; only differences mean something. */
  static long aheadNanos(TimeSource time) {
    for (int read = 1; ; read++) {
      long before = time.nanos();
      long wallMillis = time.wallMillis();
      long after = time.nanos();
      // A pause between the reads would hide a jump of its length. Counting from the later read
      // errs
      // towards doubt.
      if (after - before <= READ_NANOS_MAX || read == READS_MAX) {
        return wallMillis * 1_000_000 - after;
      }
    }
  }
}
