package io.holdfast.lock.consul.session;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The thread of a client's sessions, which finds what is due, on each tick. It does no I/O.
 *
 * <p>It is a loop of its own, since it must outlive a lack of memory: the thread of an executor
 * ends if there is none for what the executor itself needs, and a repeated task then never runs
 * again.
 */
final class SessionThread implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(SessionThread.class);
  private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  private final String name;
  private final Queue<Later> later = new ConcurrentLinkedQueue<>();
  private volatile boolean closed;

  private record Later(long atNanos, Runnable task) {}

  SessionThread(String clientName) {
    this.name = "holdfast-" + clientName + "-sessions";
  }

  /** Begins to run a task on each tick. */
  void start(Runnable tick) {
    Runnable runLater = this::runDue;
    // Without the thread locals of whoever starts it.
    Thread thread = new Thread(null, () -> work(tick, runLater), name, 0, false);
    thread.setDaemon(true);
    thread.start();
  }

  private void work(Runnable tick, Runnable runLater) {
    while (!closed) {
      LockSupport.parkNanos(this, TICK_NANOS);
      // Nobody has a reason to interrupt this thread, and a set flag would make every park return
      // at once.
      boolean unused = Thread.interrupted();
      if (!closed) {
        safely(runLater);
        safely(tick);
      }
    }
  }

  private void runDue() {
    later.removeIf(SessionThread::runIfDue);
  }

  private static boolean runIfDue(Later one) {
    boolean due = one.atNanos() - System.nanoTime() <= 0;
    if (due) {
      safely(one.task());
    }
    return due;
  }

  /** Runs a task at the first tick after a while, unless the thread has ended by then. */
  void runLater(long delayNanos, Runnable task) {
    later.add(new Later(System.nanoTime() + delayNanos, task));
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
    closed = true;
  }
}
