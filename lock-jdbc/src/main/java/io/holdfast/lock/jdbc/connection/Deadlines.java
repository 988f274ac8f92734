package io.holdfast.lock.jdbc.connection;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * Deadlines for calls to a database. They use real time, whatever clock the engine has, since they
 * limit sockets.
 */
public final class Deadlines {
  private static final long PAUSE_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(1);
  private static final long PAUSE_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(64);

  /**
   * Another try needs at least the whole time divided by this, the most that an answer may take. A
   * statement that times out costs its connection, and tells less than the failure before it.
   */
  private static final int SHARE_OF_A_TRY = 3;

  private Deadlines() {}

  public static Deadline after(Duration whole) {
    return Deadline.after(whole, TimeSource.system());
  }

  /**
   * Returns a deadline for a first try that leaves time for a second one: the time left, divided by
   * {@code divisor}.
   */
  public static Deadline part(Deadline deadline, int divisor) {
    return deadline.within(Duration.ofNanos(Math.max(0, deadline.leftNanos()) / divisor));
  }

  /** Whether enough time is left for another try after a wait of this length. */
  public static boolean leavesATry(Deadline deadline, long waitNanos) {
    return deadline.leftNanos() > waitNanos + deadline.whole().toNanos() / SHARE_OF_A_TRY;
  }

  /**
   * Pauses before the next try: longer each time, and at random, so that clients that were in each
   * other's way do not meet again. An interrupt does not end it, or an interrupted thread would try
   * again and again without a pause.
   *
   * @return false, without a pause, if too little time is left for another try
   */
  public static boolean pause(Deadline deadline, int failures) {
    long bound = Math.min(PAUSE_NANOS_MAX, PAUSE_NANOS_MIN << Math.min(failures, 10));
    long nanos = ThreadLocalRandom.current().nextLong(bound / 2, bound);
    if (!leavesATry(deadline, nanos)) {
      return false;
    }
    return deadline.within(Duration.ofNanos(nanos)).awaitUninterruptibly(leftNanos -> {
      TimeUnit.NANOSECONDS.sleep(leftNanos);
      return true;
    });
  }
}
