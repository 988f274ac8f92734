package io.holdfast.lock.consul.session;

import io.holdfast.lock.consul.line.TaskQueue;
import io.holdfast.lock.spi.Deadline;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The thread that tends the sessions of one client. Thread-safe. */
public final class Ticker {
  private static final Logger log = LoggerFactory.getLogger(Ticker.class);

  private static final long TICK_MILLIS = 200;

  private final ScheduledThreadPoolExecutor executor;

  /** @param tick the task that it runs five times a second */
  public Ticker(String clientName, Runnable tick) {
    executor = new ScheduledThreadPoolExecutor(1, task -> {
      Thread thread = new Thread(task, "holdfast-" + clientName + "-sessions");
      thread.setDaemon(true);
      return thread;
    });
    var unused = executor.scheduleWithFixedDelay(
        () -> safely(tick), TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS);
  }

  /**
   * Runs a task, and logs whatever it throws: without this thread, sessions would end and keys
   * would stay.
   */
  public static void safely(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException | Error e) {
      log.error("Something of a session could not be done", e);
    }
  }

  /** Runs a task in about half a second, unless the thread is ended by then. */
  public void later(Runnable task) {
    after(TaskQueue.retryNanos() / 2, task);
  }

  /** Runs a task after that time, unless the thread is ended by then. */
  void after(long nanos, Runnable task) {
    try {
      var unused = executor.schedule(() -> safely(task), nanos, TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException e) {
      log.trace("Closed meanwhile", e);
    }
  }

  /** Ends the thread, after the task that it is at. */
  public void close(Deadline deadline) {
    executor.shutdownNow();
    boolean ended = deadline.awaitUninterruptibly(
        leftNanos -> executor.awaitTermination(leftNanos, TimeUnit.NANOSECONDS));
    if (!ended) {
      log.debug("The thread of the sessions is still busy");
    }
  }
}
