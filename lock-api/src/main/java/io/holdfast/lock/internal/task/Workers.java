package io.holdfast.lock.internal.task;

import io.holdfast.lock.internal.log.SafeLogger;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A few daemon threads for one sort of work, started as needed and ended when idle.
 *
 * <p>No task is forgotten before {@link #close} or {@link #closeNow}. One that failed, or for which
 * no thread could be started, waits in a list until {@link #retry()}, which an existing thread
 * calls now and then.
 *
 * <p>Threads: any.
 */
public final class Workers {
  private static final SafeLogger log = SafeLogger.of(Workers.class);

  private static final long IDLE_SECONDS = 10;

  final ThreadPoolExecutor threads;
  private final Runnable onListed;

  /**
   * The first of the tasks that wait for {@link #retry}. Guarded by this object's monitor, under
   * which nothing else is locked.
   */
  private @Nullable Task firstListed;

  private volatile boolean closed;

  /**
   * @param onListed called, on any thread, when {@link #retry()} has something to do; throws
   *     nothing
   */
  public Workers(EngineThreads factory, String kind, int threadsMax, Runnable onListed) {
    this.threads = new ThreadPoolExecutor(
        threadsMax,
        threadsMax,
        IDLE_SECONDS,
        TimeUnit.SECONDS,
        new LinkedBlockingQueue<>(),
        factory.named(kind));
    threads.allowCoreThreadTimeOut(true);
    this.onListed = onListed;
  }

  /** Has a task run by one of these threads, now or later. Throws nothing. */
  public void submit(Task task) {
    try {
      threads.execute(() -> run(task));
    } catch (Throwable e) { // No memory, or no thread.
      list(task);
    }
  }

  /** Whether {@link #retry()} has something to do. */
  public boolean hasWaiting() {
    return isAnyListed() || hasNoThread();
  }

  private synchronized boolean isAnyListed() {
    return firstListed != null;
  }

  /**
   * Whether there are tasks but no thread: the last threads may have ended because the heap was
   * full.
   */
  private boolean hasNoThread() {
    return threads.getPoolSize() == 0 && !threads.getQueue().isEmpty();
  }

  /** Submits the tasks in the list again. Throws nothing. */
  public void retry() {
    // One round: a task that fails again waits for the next retry.
    Task first;
    synchronized (this) {
      first = firstListed;
      firstListed = null;
    }
    while (first != null) {
      Task next = first.next;
      first.endListed();
      submit(first);
      first = next;
    }
    if (hasNoThread()) {
      startOne();
    }
  }

  /**
   * Takes no more tasks, runs those in the list on this thread, and waits for the others.
   *
   * @param most the longest time to wait, in real time
   */
  public void close(Duration most) {
    Deadline deadline = Deadline.after(most, TimeSource.system());
    closed = true;
    threads.shutdown();
    for (Task task = takeListed(); task != null; task = takeListed()) {
      run(task);
    }
    boolean ended = deadline.awaitUninterruptibly(
        leftNanos -> threads.awaitTermination(leftNanos, TimeUnit.NANOSECONDS));
    if (!ended) {
      log.warn("Threads of a closed lock client are still at work: {}", threads, null);
    }
  }

  /** Takes the first task off the list. */
  private @Nullable Task takeListed() {
    Task first;
    synchronized (this) {
      first = firstListed;
      if (first != null) {
        firstListed = first.next;
      }
    }
    if (first != null) {
      first.endListed();
    }
    return first;
  }

  /** Whether tasks are taken no more. */
  public boolean isClosed() {
    return closed;
  }

  /** Keeps no idle threads from now on; new tasks still run. */
  public void retire() {
    threads.setKeepAliveTime(1, TimeUnit.NANOSECONDS);
  }

  /** Takes no more tasks, and drops those that wait. */
  public void closeNow() {
    closed = true;
    threads.shutdownNow();
  }

  private void startOne() {
    try {
      boolean unused = threads.prestartCoreThread();
    } catch (Throwable e) { // No memory, or no thread: the keeper calls retry() again.
      onListed.run();
    }
  }

  private void run(Task task) {
    if (!task.beginRun()) {
      return;
    }
    boolean ended = false;
    try {
      do {
        runOnce(task);
      } while (task.runsAgain());
      ended = true;
    } finally {
      if (!ended) {
        task.abandonRun();
        list(task);
      }
    }
  }

  private void runOnce(Task task) {
    try {
      task.work();
    } catch (Throwable e) {
      list(task);
      log.warn("A task of a lock client failed, and is run again", e, null);
    }
  }

  /** Puts a task into the list. Allocates nothing. */
  private void list(Task task) {
    if (closed) {
      // The client is closed, and has logged what may stay taken until its TTL is over.
      return;
    }
    synchronized (task) {
      if (!task.listed) {
        synchronized (this) {
          task.next = firstListed;
          firstListed = task;
          task.listed = true;
        }
      }
    }
    onListed.run();
  }
}
