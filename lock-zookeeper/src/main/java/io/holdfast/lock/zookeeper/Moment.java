package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;

/**
 * A reading of both clocks. The monotonic clock may stand still while the machine is suspended; the
 * wall clock then jumps ahead.
 */
record Moment(long nanos, long wallMillis) {
  static Moment now(TimeSource time) {
    return new Moment(time.nanos(), time.wallMillis());
  }

  /** Returns the time until a later moment, by whichever clock shows more. */
  long nanosUntil(Moment later) {
    return Math.max(later.nanos - nanos, wallNanosUntil(later));
  }

  /**
   * Returns the time until a later moment that is known to be at most this far away: a wall clock
   * that ran ahead by more was adjusted.
   */
  long nanosUntil(Moment later, long nanosMax) {
    long byMonotonicNanos = later.nanos - nanos;
    return wallNanosUntil(later) - byMonotonicNanos > nanosMax
        ? byMonotonicNanos
        : nanosUntil(later);
  }

  private long wallNanosUntil(Moment later) {
    return Duration.ofMillis(later.wallMillis - wallMillis).toNanos();
  }
}
