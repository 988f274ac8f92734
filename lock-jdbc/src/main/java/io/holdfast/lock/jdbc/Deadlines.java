package io.holdfast.lock.jdbc;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The deadlines of calls to a database. They run on real time, whatever clock the engine has: they
 * bound sockets.
 */
final class Deadlines {
  private static final long PAUSE_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(1);
  private static final long PAUSE_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(64);

  /**
   * The share of the time that must be left for a try. A statement whose time runs out ends its
   * connection, and tells less than the failure before it.
   */
  private static final int SHARE_OF_A_TRY = 8;

  private Deadlines() {}

  static Deadline after(Duration whole) {
    return Deadline.after(whole, TimeSource.system());
  }

  /** A part of what is left, for a first try that a second one follows. */
  static Deadline part(Deadline deadline, int divisor) {
    return deadline.within(Duration.ofNanos(Math.max(0, deadline.leftNanos()) / divisor));
  }

  /**
   * Pauses before the next try: longer each time, at random, so that those who collided don't
   * again.
   *
   * @return false: too little time is left for another
   */
  static boolean pause(Deadline deadline, int failures) {
    long bound = Math.min(PAUSE_NANOS_MAX, PAUSE_NANOS_MIN << Math.min(failures, 10));
    long nanos = ThreadLocalRandom.current().nextLong(bound / 2, bound);
    if (deadline.leftNanos() <= nanos + deadline.whole().toNanos() / SHARE_OF_A_TRY) {
      return false;
    }
    long end = System.nanoTime() + nanos;
    for (long left = nanos; left > 0; left = end - System.nanoTime()) {
      LockSupport.parkNanos(deadline, left);
      if (Thread.currentThread().isInterrupted()) {
        break; // A park would return at once; the caller keeps the flag.
      }
    }
    return true;
  }
}
