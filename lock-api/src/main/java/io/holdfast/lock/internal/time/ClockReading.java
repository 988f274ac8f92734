package io.holdfast.lock.internal.time;

import io.holdfast.lock.spi.TimeSource;

/**
 * A reading of both clocks, taken before a question is sent to the store: what the answer counts
 * from. Were the wall clock read after the answer, a machine that slept while the question was on
 * its way would take an old answer for a new one.
 *
 * @param nanos the monotonic clock
 * @param wallAheadNanos the distance by which the wall clock was ahead of it
 */
public record ClockReading(long nanos, long wallAheadNanos) {
  /** Reads both clocks now. */
  public static ClockReading of(TimeSource time) {
    return WallClock.read(time);
  }
}
