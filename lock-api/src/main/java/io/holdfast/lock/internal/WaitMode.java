package io.holdfast.lock.internal;

import io.holdfast.lock.internal.time.Nanos;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;

/**
 * The way in which a caller waits.
 *
 * @param waits whether it waits at all, or asks once
 * @param untilNanos when it stops waiting, by the monotonic clock; means nothing if it does not wait
 * @param interruptible whether an interrupt ends it; otherwise the interrupt is kept for later
 */
record WaitMode(boolean waits, long untilNanos, boolean interruptible) {

  static final WaitMode ASK_ONCE = new WaitMode(false, 0, false);
  private static final WaitMode ASK_ONCE_INTERRUPTIBLY = new WaitMode(false, 0, true);

  /** Zero or less asks once, but like every timed wait reacts to an interrupt. */
  static WaitMode upTo(Duration maxWait, TimeSource time) {
    boolean waits = !maxWait.isNegative() && !maxWait.isZero();
    return waits ? new WaitMode(true, time.nanos() + Nanos.of(maxWait), true) : ASK_ONCE_INTERRUPTIBLY;
  }

  static WaitMode unlimited(TimeSource time) {
    return new WaitMode(true, time.nanos() + Nanos.FOREVER, true);
  }

  static WaitMode unlimitedAndUninterruptible(TimeSource time) {
    return new WaitMode(true, time.nanos() + Nanos.FOREVER, false);
  }

  /** Whether it waits, and its time is not over. */
  boolean stillWaits(TimeSource time) {
    return waits && untilNanos - time.nanos() > 0;
  }
}
