package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;

/**
 * A reading of both clocks. The monotonic one may stand still while the machine is suspended; the
 * wall clock then jumps ahead.
 */
record Moment(long nanos, long wallMillis) {
  static Moment now(TimeSource time) {
    return new Moment(time.nanos(), time.wallMillis());
  }

  /** The time until a later moment, by the clock that shows more of it. */
  long nanosUntil(Moment later) {
    return Math.max(later.nanos - nanos, wallNanosUntil(later));
  }

  /**
   * The same where it is known how long it was at most: a wall clock that ran ahead by more was
   * set.
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
