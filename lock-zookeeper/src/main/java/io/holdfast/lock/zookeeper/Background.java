package io.holdfast.lock.zookeeper;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The background thread of a store, which runs its tasks twice a second. None of them waits for the
 * server.
 *
 * <p>It is a loop of its own, since it must outlive a lack of memory: the thread of an executor
 * ends if there is none for what the executor itself needs, and a repeated task then never runs
 * again.
 */
final class Background {
  private static final Logger log = LoggerFactory.getLogger(Background.class);
  private static final long PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private final String name;
  private volatile boolean ended;

  Background(String clientName) {
    this.name = "holdfast-" + clientName + "-nodes";
  }

  /** Runs these tasks again and again, whatever they throw, until the end. */
  void start(Runnable... tasks) {
    Thread thread = new Thread(null, () -> work(tasks), name, 0, false);
    thread.setDaemon(true);
    thread.start();
  }

  private void work(Runnable[] tasks) {
    while (!ended) {
      LockSupport.parkNanos(this, PERIOD_NANOS);
      // Nobody has a reason to interrupt this thread, and a set flag would make every park return
      // at once.
      boolean unused = Thread.interrupted();
      for (Runnable task : tasks) {
        runSafely(task);
      }
    }
  }

  private static void runSafely(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException | Error e) {
      logFailure(e);
    }
  }

  private static void logFailure(Throwable e) {
    try {
      log.warn("What a client does in the background failed, and is done again", e);
    } catch (RuntimeException | Error again) {
      // No memory for a log line. What is thrown from here would end the repetition.
      return;
    }
  }

  /** Ends the thread after this run of its tasks. */
  void end() {
    ended = true;
  }
}
