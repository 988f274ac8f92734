package io.holdfast.lock.testsupport;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** Waits for what other threads and servers are about to do. */
public final class Await {
  /** The longest that a test waits for something that must happen; it should take far less. */
  public static final Duration PATIENCE = Duration.ofSeconds(45);

  private static final int QUICK_LOOKS = 20;
  private static final long QUICK_PAUSE_NANOS = 1_000_000;
  private static final long PAUSE_NANOS = 10_000_000;

  private Await() {}

  /** Returns once it is so. */
  public static void until(String what, Callable<Boolean> condition) {
    until(what, PATIENCE, condition);
  }

  /**
   * Returns once it is so; what throws is not so yet.
   *
   * @throws AssertionError it was not so within this time
   */
  public static void until(String what, Duration max, Callable<Boolean> condition) {
    long untilNanos = System.nanoTime() + max.toNanos();
    Exception last;
    int looks = 0;
    do {
      last = null;
      try {
        if (condition.call()) {
          return;
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new AssertionError("Interrupted while waiting: " + what, e);
      } catch (Exception e) {
        last = e;
      }
      LockSupport.parkNanos(looks++ < QUICK_LOOKS ? QUICK_PAUSE_NANOS : PAUSE_NANOS);
    } while (System.nanoTime() - untilNanos < 0);
    throw failure("Not within " + max + ": " + what, last);
  }

  /** Lets time pass, where nothing can be waited for. */
  public static void pause(Duration length) {
    try {
      Thread.sleep(length.toMillis());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("Interrupted in a pause", e);
    }
  }

  private static AssertionError failure(String message, @Nullable Exception cause) {
    return cause == null ? new AssertionError(message) : new AssertionError(message, cause);
  }
}
