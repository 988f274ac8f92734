package io.holdfast.lock.torture;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** Waits for conditions of processes and servers. */
final class Waiting {
  private static final long PAUSE_NANOS = 20_000_000;

  private Waiting() {}

  /** A condition to wait for. */
  interface Condition<E extends Exception> {
    boolean holds() throws E;
  }

  /** Returns whether the condition came to hold in time. */
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

  /** @throws IllegalStateException the condition did not come to hold in time */
  static <E extends Exception> void until(String what, Duration max, Condition<E> condition)
      throws E {
    if (!eventually(max, condition)) {
      throw new IllegalStateException("Not within " + max + ": " + what);
    }
  }
}
