package io.holdfast.lock.consul;

import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;

/** What is left of a store timeout that several requests share. */
final class Budget {
  private final TimeSource time;
  private final long wholeNanos;
  private final long beganNanos;

  Budget(TimeSource time, Duration whole) {
    this.time = time;
    this.wholeNanos = whole.toNanos();
    this.beganNanos = time.nanos();
  }

  long beganNanos() {
    return beganNanos;
  }

  boolean isSpent() {
    return leftNanos() <= 0;
  }

  long leftNanos() {
    return wholeNanos - (time.nanos() - beganNanos);
  }

  /** @throws StoreException nothing is left; nothing was sent */
  long requireLeft() throws StoreException {
    long leftNanos = leftNanos();
    if (leftNanos <= 0) {
      throw StoreException.refused(
          "Consul did not answer within the store timeout of " + Duration.ofNanos(wholeNanos),
          null);
    }
    return leftNanos;
  }
}
