package io.holdfast.lock.tck.rules;

import io.holdfast.lock.LockStoreException;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Waits for conditions: {@link #eventually} for what must happen (with a generous limit), and
 * {@link #never} for what must not (for a short time).
 */
abstract class Polling {
  private static final Duration PAUSE_MIN = Duration.ofMillis(2);
  private static final Duration PAUSE_MAX = Duration.ofMillis(30);

  /** For subclasses. */
  Polling() {}

  static Duration since(long startNanos) {
    return Duration.ofNanos(System.nanoTime() - startNanos);
  }

  /** A condition that may ask the store. */
  @FunctionalInterface
  interface Condition {
    boolean holds() throws Exception;
  }

  /** Waits for something that must happen. */
  static void eventually(String what, Duration within, Condition condition) {
    long start = System.nanoTime();
    while (!holds(condition)) {
      if (since(start).compareTo(within) > 0) {
        throw new AssertionError("Did not happen within " + within + ": " + what);
      }
      pauseBetweenLooks(since(start));
    }
  }

  /** Waits until the store answers this question, after it was out of reach. */
  static void eventuallyAnswered(Duration within, Runnable question) {
    eventually("the store answers again", within, () -> {
      try {
        question.run();
        return true;
      } catch (LockStoreException e) {
        return false;
      }
    });
  }

  /** Watches that something does not happen. */
  static void never(String what, Duration during, Condition condition) {
    long start = System.nanoTime();
    do {
      if (holds(condition)) {
        throw new AssertionError("Must not happen, but did after " + since(start) + ": " + what);
      }
      pauseBetweenLooks(since(start));
    } while (since(start).compareTo(during) < 0);
  }

  private static boolean holds(Condition condition) {
    try {
      return condition.holds();
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new AssertionError("The condition could not be checked", e);
    }
  }

  /**
   * Pauses between two looks: for a twentieth of the distance, 2 to 30 ms. Many rules look at once,
   * and most of them ask the store.
   *
   * @param distance the time since the first look, or until what is looked for can happen
   */
  static void pauseBetweenLooks(Duration distance) {
    Duration part = distance.abs().dividedBy(20);
    pause(Collections.min(List.of(Collections.max(List.of(part, PAUSE_MIN)), PAUSE_MAX)));
  }

  /** Pauses for exactly this time, as a step of a scenario. */
  static void pause(Duration length) {
    try {
      TimeUnit.NANOSECONDS.sleep(length.toNanos());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("Interrupted", e);
    }
  }
}
