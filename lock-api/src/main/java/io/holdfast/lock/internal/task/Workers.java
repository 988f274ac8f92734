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
 * A few threads for one sort of work: daemons, made as needed, gone when idle.
 *
 * <p>No task that was submitted is forgotten. One for which no thread could be started, and one
 * that failed, waits in a list until {@link #retry()}, which a thread that is there in any case
 * calls now and then.
 *
 * <p>Threads: any.
 */
public final class Workers {
  private static final SafeLogger log = SafeLogger.of(Workers.class);

  private static final long IDLE_SECONDS = 10;

  private final ThreadPoolExecutor threads;
  private final Runnable onUnstarted;

  /**
   * The first of those that wait for {@link #retry}. Guarded by the monitor of this, under which
   * nothing else is locked.
   */
  private @Nullable Task unstarted;

  private volatile boolean closed;

  /**
   * @param onUnstarted told, on any thread, that {@link #retry()} has something to do; throws
   *     nothing
   */
  public Workers(EngineThreads factory, String sort, int threadsMax, Runnable onUnstarted) {
    this.threads = new ThreadPoolExecutor(
        threadsMax,
        threadsMax,
        IDLE_SECONDS,
        TimeUnit.SECONDS,
        new LinkedBlockingQueue<>(),
        factory.named(sort));
    threads.allowCoreThreadTimeOut(true);
    this.onUnstarted = onUnstarted;
  }

  /**
   * Has it run by a thread of these, now or later. Throws nothing and loses nothing: a caller that
   * is at the end of its stack needs two frames of it.
   */
  public void submit(Task task) {
    try {
      StackReserve.ensureForLibrary();
      threads.execute(() -> run(task));
    } catch (Throwable e) { // No memory, no thread, or no stack.
      list(task);
    }
  }

  /** Whether {@link #retry()} has something to do. */
  public boolean hasUnstarted() {
    return isAnyListed() || hasNoThread();
  }

  private synchronized boolean isAnyListed() {
    return unstarted != null;
  }

  /** Its last threads may have ended of a full heap, with tasks still in their queue. */
  private boolean hasNoThread() {
    return threads.getPoolSize() == 0 && !threads.getQueue().isEmpty();
  }

  /** Starts what could not be started before. Throws nothing. */
  public void retry() {
    // One round: what fails again waits for the next.
    Task first;
    synchronized (this) {
      first = unstarted;
      unstarted = null;
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

  ThreadPoolExecutor threads() {
    return threads;
  }

  /**
   * Takes nothing new, and waits until what was submitted has run; on this thread, where no other
   * could be started.
   *
   * @param most the longest time that it waits, in real time
   */
  public void close(Duration most) {
    Deadline deadline = Deadline.after(most, TimeSource.system());
    closed = true;
    threads.shutdown();
    for (Task task = takeUnstarted(); task != null; task = takeUnstarted()) {
      run(task);
    }
    boolean ended = deadline.awaitUninterruptibly(
        leftNanos -> threads.awaitTermination(leftNanos, TimeUnit.NANOSECONDS));
    if (!ended) {
      log.warn("Threads of a closed lock client are still at work: {}", threads, null);
    }
  }

  /** The first of those that found no thread; the rest stay. */
  private @Nullable Task takeUnstarted() {
    Task first;
    synchronized (this) {
      first = unstarted;
      if (first != null) {
        unstarted = first.next;
      }
    }
    if (first != null) {
      first.endListed();
    }
    return first;
  }

  /** Keeps no idle thread from now on; whatever comes still runs. */
  public void retire() {
    threads.setKeepAliveTime(1, TimeUnit.NANOSECONDS);
  }

  /** Takes nothing new, and drops what waits. */
  public void closeNow() {
    closed = true;
    threads.shutdownNow();
  }

  private void startOne() {
    try {
      boolean unused = threads.prestartCoreThread();
    } catch (Throwable e) {
      onUnstarted.run();
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

  /** Calls nothing before the task is in the list: there may be no stack left for that. */
  private void list(Task task) {
    if (closed) {
      // The client was closed, and said so to everybody; what is left ends by its TTL.
      return;
    }
    synchronized (task) {
      if (!task.listed) {
        synchronized (this) {
          task.next = unstarted;
          unstarted = task;
          task.listed = true;
        }
      }
    }
    onUnstarted.run();
  }
}
