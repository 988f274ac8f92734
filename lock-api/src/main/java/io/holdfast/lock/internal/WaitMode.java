package io.holdfast.lock.internal;

import io.holdfast.lock.internal.time.Nanos;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;

/**
 * Whether and how long a caller waits for a lock.
 *
 * @param waits whether it waits, or tries once
 * @param sinceNanos the time of the call, on the monotonic clock; zero if nobody asks for it
 * @param untilNanos the end of its wait, on the same clock; meaningless if it does not wait
 * @param interruptible whether an interrupt ends the wait; otherwise the interrupt is kept for
 *     later
 */
record WaitMode(boolean waits, long sinceNanos, long untilNanos, boolean interruptible) {

  static final WaitMode ASK_ONCE = new WaitMode(false, 0, 0, false);
  private static final WaitMode ASK_ONCE_INTERRUPTIBLY = new WaitMode(false, 0, 0, true);

  /**
   * Returns the mode of a timed wait. Zero or less tries once, but like every timed wait reacts to
   * an interrupt.
   */
  static WaitMode upTo(Duration maxWait, TimeSource time) {
    boolean waits = !maxWait.isNegative() && !maxWait.isZero();
    long nowNanos = time.nanos();
    return new WaitMode(waits, nowNanos, waits ? nowNanos + Nanos.of(maxWait) : nowNanos, true);
  }

  static WaitMode unlimited(TimeSource time) {
    return new WaitMode(true, 0, time.nanos() + Nanos.FOREVER, true);
  }

  static WaitMode unlimitedAndUninterruptible(TimeSource time) {
    return new WaitMode(true, 0, time.nanos() + Nanos.FOREVER, false);
  }

  /** Returns the mode that tries once, and takes an interrupt as this one does. */
  WaitMode askingOnce() {
    return interruptible ? ASK_ONCE_INTERRUPTIBLY : ASK_ONCE;
  }

  /**
   * Returns the time since the call of a timed wait: no shorter than the wait, once that is over.
   */
  Duration waited(TimeSource time) {
    return Duration.ofNanos(time.nanos() - sinceNanos);
  }

  /** Whether the caller waits, and its time is not over. */
  boolean stillWaits(TimeSource time) {
    return waits && untilNanos - time.nanos() > 0;
  }
}
