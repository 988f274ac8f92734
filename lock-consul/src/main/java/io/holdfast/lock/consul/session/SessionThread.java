package io.holdfast.lock.consul.session;

import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The thread of a client's sessions, which finds what is due. It does no I/O. */
final class SessionThread implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(SessionThread.class);

  private static final long TICK_MILLIS = 200;

  private final ScheduledThreadPoolExecutor executor;

  SessionThread(String clientName) {
    executor = new ScheduledThreadPoolExecutor(1, task -> {
      // Without the thread locals of whoever starts it.
      Thread thread = new Thread(null, task, "holdfast-" + clientName + "-sessions", 0, false);
      thread.setDaemon(true);
      return thread;
    });
    // Tasks that come after the close are dropped.
    executor.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy());
  }

  /** Begins to run a task on each tick. */
  void start(Runnable tick) {
    var unused = executor.scheduleWithFixedDelay(
        () -> safely(tick), TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS);
  }

  /** Runs a task after a while, unless the thread has ended by then. */
  void runLater(long delayNanos, Runnable task) {
    var unused = executor.schedule(() -> safely(task), delayNanos, TimeUnit.NANOSECONDS);
  }

  /**
   * Runs a task, and logs whatever it throws. An exception would end the ticks, and with them all
   * renewals and cleanup.
   */
  static void safely(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException | Error e) {
      logFailure(e);
    }
  }

  private static void logFailure(Throwable failure) {
    try {
      log.error("Something of a session could not be done", failure);
    } catch (RuntimeException | Error e) {
      // No memory for a line of the log, which is not worth the ticks.
      return;
    }
  }

  @Override
  public void close() {
    executor.shutdownNow();
  }
}
