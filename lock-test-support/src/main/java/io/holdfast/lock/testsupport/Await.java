package io.holdfast.lock.testsupport;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** Waits for what other threads and servers are about to do. */
public final class Await {
  /** The longest that a test waits for something that must happen; it should take far less. */
  public static final Duration PATIENCE = Duration.ofSeconds(45);

  private static final long PAUSE_NANOS_MIN = 1_000_000;
  private static final long PAUSE_NANOS_MAX = 100_000_000;

  private Await() {}

  /** Returns once it is so; what it throws is thrown. */
  public static void until(String what, Callable<Boolean> condition) {
    until(what, PATIENCE, condition);
  }

  /**
   * Returns once it is so; what it throws is thrown.
   *
   * @throws AssertionError it was not so within this time, or the cause is a checked exception
   */
  public static void until(String what, Duration max, Callable<Boolean> condition) {
    long startNanos = System.nanoTime();
    while (!holds(what, condition)) {
      long waitedNanos = System.nanoTime() - startNanos;
      if (waitedNanos > max.toNanos()) {
        throw new AssertionError("Not within " + max + ": " + what);
      }
      // The longer it takes, the longer: a look may ask a server, and many tests look at once.
      LockSupport.parkNanos(Math.min(Math.max(waitedNanos / 20, PAUSE_NANOS_MIN), PAUSE_NANOS_MAX));
    }
  }

  private static boolean holds(String what, Callable<Boolean> condition) {
    try {
      return condition.call();
    } catch (RuntimeException e) {
      throw e;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("Interrupted while waiting: " + what, e);
    } catch (Exception e) {
      throw new AssertionError("Failed while waiting: " + what, e);
    }
  }

  /**
   * Returns once it is so and was found out without an exception: for what a server that is
   * starting, or a connection that was cut, is asked. The failure names the last exception.
   */
  public static void untilAnswered(String what, Callable<Boolean> condition) {
    AtomicReference<@Nullable Exception> last = new AtomicReference<>();
    try {
      until(what, () -> {
        try {
          last.set(null);
          return condition.call();
        } catch (InterruptedException e) {
          throw e;
        } catch (Exception e) {
          last.set(e);
          return false;
        }
      });
    } catch (AssertionError e) {
      Exception cause = last.get();
      if (cause != null) {
        e.addSuppressed(cause);
      }
      throw e;
    }
  }

  /** Lets time pass, where nothing tells that it has: for what must not happen, and for TTLs. */
  public static void pause(Duration length) {
    try {
      Thread.sleep(length.toMillis());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("Interrupted in a pause", e);
    }
  }
}
