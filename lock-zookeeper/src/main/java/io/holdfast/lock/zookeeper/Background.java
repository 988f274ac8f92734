package io.holdfast.lock.zookeeper;

import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The background thread of a store. Nothing that runs on it waits for the server. */
final class Background {
  private static final Logger log = LoggerFactory.getLogger(Background.class);

  private final ScheduledThreadPoolExecutor executor;

  Background(String clientName) {
    this.executor = new ScheduledThreadPoolExecutor(1, task -> {
      Thread thread = new Thread(null, task, "holdfast-" + clientName + "-nodes", 0, false);
      thread.setDaemon(true);
      return thread;
    });
  }

  /** Runs a task repeatedly, each time this long after the last run ended, whatever it throws. */
  void repeat(long millis, Runnable task) {
    var unused = executor.scheduleWithFixedDelay(
        () -> {
          try {
            task.run();
          } catch (RuntimeException | Error e) {
            logFailure(e);
          }
        },
        millis,
        millis,
        TimeUnit.MILLISECONDS);
  }

  private static void logFailure(Throwable e) {
    try {
      log.warn("What a client does in the background failed, and is done again", e);
    } catch (RuntimeException | Error again) {
      // No memory for a log line. What is thrown from here would end the repetition.
      return;
    }
  }

  /** Ends the thread and the repeated tasks. */
  void end() {
    executor.shutdown();
  }
}
