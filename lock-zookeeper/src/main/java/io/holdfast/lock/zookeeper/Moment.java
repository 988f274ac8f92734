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
   * Returns the time until a later moment, by whichever clock shows more. If the wall clock ran
   * ahead of the monotonic one by more than {@code aheadNanosMax}, it was adjusted, and the
   * monotonic clock alone counts.
   */
  long nanosUntil(Moment later, long aheadNanosMax) {
    long byMonotonicNanos = later.nanos - nanos;
    return wallNanosUntil(later) - byMonotonicNanos > aheadNanosMax
        ? byMonotonicNanos
        : nanosUntil(later);
  }

  private long wallNanosUntil(Moment later) {
    return Duration.ofMillis(later.wallMillis - wallMillis).toNanos();
  }
}
