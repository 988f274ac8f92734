package io.holdfast.lock.tck.rules;

import java.time.Duration;

/**
 * Notices that the machine ran nothing of this JVM for a while, which looks like a lost lease to a
 * test: then a failure says so.
 */
final class StallWatch {
  /** A stall that can make a test fail that should not. */
  static final Duration WORTH_TELLING = Duration.ofMillis(500);

  private static final long STEP_MILLIS = 20;

  private final Thread thread = new Thread(this::watch, "tck-stall-watch");
  private volatile boolean stopped;
  private volatile long worstNanos;

  private StallWatch() {}

  static StallWatch start() {
    StallWatch watch = new StallWatch();
    watch.thread.setDaemon(true);
    watch.thread.start();
    return watch;
  }

  /** Ends the watch and returns the longest stall. */
  Duration stop() {
    stopped = true;
    thread.interrupt();
    return Duration.ofNanos(worstNanos);
  }

  private void watch() {
    long last = System.nanoTime();
    while (!stopped) {
      try {
        Thread.sleep(STEP_MILLIS);
      } catch (InterruptedException e) {
        return;
      }
      long now = System.nanoTime();
      worstNanos = Math.max(worstNanos, now - last - STEP_MILLIS * 1_000_000);
      last = now;
    }
  }
}
