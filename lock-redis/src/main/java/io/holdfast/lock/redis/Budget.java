package io.holdfast.lock.redis;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * The time that one call to the store has. Real time, whatever clock the engine runs on: it bounds
 * sockets.
 */
record Budget(Duration whole, long deadlineNanos) {

  static Budget of(Duration whole) {
    return new Budget(whole, System.nanoTime() + whole.toNanos());
  }

  /** For one try of it: no longer than this from now. */
  Budget within(Duration max) {
    Budget part = of(max);
    return part.nanosLeft() < nanosLeft() ? part : this;
  }

  long nanosLeft() {
    return deadlineNanos - System.nanoTime();
  }

  boolean isUsedUp() {
    return nanosLeft() <= 0;
  }

  Duration left() {
    return Duration.ofNanos(Math.max(0, nanosLeft()));
  }

  /** For sockets, to which zero means for ever: at least one. */
  int millisLeft() {
    return (int) Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanosLeft()));
  }
}
