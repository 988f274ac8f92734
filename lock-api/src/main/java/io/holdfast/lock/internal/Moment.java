package io.holdfast.lock.internal;

import io.holdfast.lock.spi.TimeSource;

/**
 * The moment before a question is sent to the store: what the answer counts from, on both clocks.
 * Were the wall clock read after the answer, a machine that slept while the question was on its way
 * would take an old answer for a new one.
 *
 * @param nanos the monotonic clock
 * @param wallAheadNanos how far the wall clock was ahead of it
 */
record Moment(long nanos, long wallAheadNanos) {
  static Moment now(TimeSource time) {
    return new Moment(time.nanos(), WallClock.aheadNanos(time));
  }
}
