package io.holdfast.lock.torture;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** Waits for what processes and servers take their time for. */
final class Waiting {
  private static final long PAUSE_NANOS = 20_000_000;

  private Waiting() {}

  /** Something that may come to be so. */
  interface Condition<E extends Exception> {
    boolean holds() throws E;
  }

  /** Whether it came to be so in time. */
  static <E extends Exception> boolean eventually(Duration max, Condition<E> condition) throws E {
    long end = System.nanoTime() + max.toNanos();
    while (!condition.holds()) {
      if (System.nanoTime() - end > 0) {
        return false;
      }
      LockSupport.parkNanos(PAUSE_NANOS);
    }
    return true;
  }

  /** @throws IllegalStateException it did not come to be so in time */
  static <E extends Exception> void until(String what, Duration max, Condition<E> condition)
      throws E {
    if (!eventually(max, condition)) {
      throw new IllegalStateException("Not within " + max + ": " + what);
    }
  }
}
