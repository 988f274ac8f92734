package io.holdfast.lock.jdbc;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The time that one call to the store has. Real time, whatever clock the engine runs on: it bounds
 * sockets.
 */
final class Budget {
  private static final long PAUSE_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(1);
  private static final long PAUSE_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(64);

  private final Duration whole;
  private final long deadlineNanos;

  private Budget(Duration whole, long deadlineNanos) {
    this.whole = whole;
    this.deadlineNanos = deadlineNanos;
  }

  static Budget of(Duration whole) {
    return new Budget(whole, System.nanoTime() + whole.toNanos());
  }

  /** A part of what is left, for a first try that a second one follows. */
  Budget part(int divisor) {
    return Budget.of(Duration.ofNanos(Math.max(0, nanosLeft()) / divisor));
  }

  /** What there was at the beginning. */
  Duration whole() {
    return whole;
  }

  long deadlineNanos() {
    return deadlineNanos;
  }

  long nanosLeft() {
    return deadlineNanos - System.nanoTime();
  }

  /** For drivers, to whom zero means for ever: at least one. */
  int millisLeft() {
    return (int) Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanosLeft()));
  }

  /**
   * Pauses before the next try: longer each time, at random, so that those who collided don't
   * again.
   *
   * @return false: no time is left for another
   */
  boolean pause(int failures) {
    long bound = Math.min(PAUSE_NANOS_MAX, PAUSE_NANOS_MIN << Math.min(failures, 10));
    long nanos = ThreadLocalRandom.current().nextLong(bound / 2, bound);
    if (nanosLeft() <= nanos) {
      return false;
    }
    long end = System.nanoTime() + nanos;
    for (long left = nanos; left > 0; left = end - System.nanoTime()) {
      LockSupport.parkNanos(this, left);
      if (Thread.currentThread().isInterrupted()) {
        break; // A park would return at once; the caller keeps the flag.
      }
    }
    return true;
  }
}
