package io.holdfast.lock.internal;

import io.holdfast.lock.internal.time.Nanos;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;

/**
 * Whether and how long a caller waits for a lock.
 *
 * @param waits whether it waits, or tries once
 * @param untilNanos the end of its wait, on the monotonic clock; meaningless if it does not wait
 * @param interruptible whether an interrupt ends the wait; otherwise the interrupt is kept for
 *     later
 */
record WaitMode(boolean waits, long untilNanos, boolean interruptible) {

  static final WaitMode ASK_ONCE = new WaitMode(false, 0, false);
  private static final WaitMode ASK_ONCE_INTERRUPTIBLY = new WaitMode(false, 0, true);

  /**
   * Returns the mode of a timed wait. Zero or less tries once, but like every timed wait reacts to
   * an interrupt.
   */
  static WaitMode upTo(Duration maxWait, TimeSource time) {
    boolean waits = !maxWait.isNegative() && !maxWait.isZero();
    return waits
        ? new WaitMode(true, time.nanos() + Nanos.of(maxWait), true)
        : ASK_ONCE_INTERRUPTIBLY;
  }

  static WaitMode unlimited(TimeSource time) {
    return new WaitMode(true, time.nanos() + Nanos.FOREVER, true);
  }

  static WaitMode unlimitedAndUninterruptible(TimeSource time) {
    return new WaitMode(true, time.nanos() + Nanos.FOREVER, false);
  }

  /** Returns the mode that tries once, and takes an interrupt as this one does. */
  WaitMode askingOnce() {
    return interruptible ? ASK_ONCE_INTERRUPTIBLY : ASK_ONCE;
  }

  /** Whether the caller waits, and its time is not over. */
  boolean stillWaits(TimeSource time) {
    return waits && untilNanos - time.nanos() > 0;
  }
}
