package io.holdfast.lock.internal;

import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;

/**
 * How a caller waits.
 *
 * @param waits whether it waits at all, or asks once
 * @param untilNanos when it stops waiting, by the monotonic clock
 * @param interruptible whether an interrupt ends it; otherwise the interrupt is kept for later
 */
record Patience(boolean waits, long untilNanos, boolean interruptible) {
  static final Patience ASK_ONCE = new Patience(false, 0, false);

  /** Zero or less asks once, but like every timed wait reacts to an interrupt. */
  static Patience upTo(Duration maxWait, TimeSource time) {
    boolean waits = !maxWait.isNegative() && !maxWait.isZero();
    return new Patience(waits, time.nanos() + Nanos.of(maxWait), true);
  }

  static Patience unlimited(TimeSource time) {
    return new Patience(true, time.nanos() + Nanos.FOREVER, true);
  }

  static Patience unlimitedAndUninterruptible(TimeSource time) {
    return new Patience(true, time.nanos() + Nanos.FOREVER, false);
  }
}
