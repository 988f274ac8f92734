package io.holdfast.lock.zookeeper;

import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The thread of a store: nothing that runs on it waits for the server. */
final class Background {
  private static final Logger log = LoggerFactory.getLogger(Background.class);

  private final ScheduledThreadPoolExecutor executor;

  Background(String clientName) {
    this.executor = new ScheduledThreadPoolExecutor(1, task -> {
      Thread thread = new Thread(task, "holdfast-" + clientName + "-nodes");
      thread.setDaemon(true);
      return thread;
    });
  }

  /** Runs it once, this much later, unless the thread has ended by then. */
  void later(long millis, Runnable task) {
    try {
      var unused = executor.schedule(task, millis, TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException e) {
      log.debug("The client is closed, and so is its thread", e);
    }
  }

  /** Runs it again and again, this much after each end, whatever it throws. */
  void repeat(long millis, Runnable task) {
    var unused = executor.scheduleWithFixedDelay(
        () -> {
          try {
            task.run();
          } catch (RuntimeException | Error e) {
            log.warn("A look after the session failed, and is done again", e);
          }
        },
        millis,
        millis,
        TimeUnit.MILLISECONDS);
  }

  /** Ends the thread, and what is repeated. */
  void end() {
    executor.shutdown();
  }
}
