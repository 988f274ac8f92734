package io.holdfast.lock.spring;

import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/** Waits for a condition, at most half a minute. */
final class Await {
  private static final long WAIT_NANOS_MAX = TimeUnit.SECONDS.toNanos(30);
  private static final long PAUSE_MILLIS = 10;

  private Await() {}

  static void until(String what, Callable<Boolean> condition) throws Exception {
    long start = System.nanoTime();
    while (!condition.call()) {
      if (System.nanoTime() - start > WAIT_NANOS_MAX) {
        throw new AssertionError("Waited in vain until " + what);
      }
      Thread.sleep(PAUSE_MILLIS);
    }
  }
}
