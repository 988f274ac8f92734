package io.holdfast.lock.internal.event;

import io.holdfast.lock.internal.log.SafeLogger;
import io.holdfast.lock.internal.task.Task;
import io.holdfast.lock.internal.task.Workers;
import io.holdfast.lock.internal.time.Nanos;
import io.holdfast.lock.spi.TimeSource;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Runs user code away from the engine's own threads: each loss listener as a task of its own,
 * listener events one after the other. An exception from user code is logged and goes no further.
 */
public final class Callbacks {
  private static final SafeLogger log = SafeLogger.of(Callbacks.class);

  /** The number of pending events above which newer ones are dropped. */
  private static final int QUEUED_MAX = 10_000;

  /**
   * The time after which a task that the user's executor has not begun is submitted again: the
   * executor may have dropped it.
   */
  private static final long BEGUN_WITHIN_NANOS = 1_000_000_000;

  private final Workers workers;
  private final @Nullable Executor users;
  private final TimeSource time;

  private final Queue<Runnable> queue = new ConcurrentLinkedQueue<>();
  private final AtomicInteger queued = new AtomicInteger();
  private final AtomicBoolean draining = new AtomicBoolean();
  private final Drain drain = new Drain();

  /** The time at which the task that drains the queue is submitted again if it has not begun. */
  private volatile long submitAgainAtNanos;

  private volatile boolean submitted;

  /** @param users the user's executor, if there is one */
  public Callbacks(Workers workers, @Nullable Executor users, TimeSource time) {
    this.workers = workers;
    this.users = users;
    this.time = time;
  }

  /** Runs a callback as a task of its own, once. */
  void run(Runnable callback) {
    workers.submit(new Single(callback));
  }

  /** Writes a line of the log on one of the client's threads: an appender can block. */
  public void log(Runnable line) {
    workers.submit(new Line(line));
  }

  /** Runs a callback after those that were passed to this method before. */
  void runInOrder(Runnable callback) {
    if (queued.incrementAndGet() > QUEUED_MAX) {
      queued.decrementAndGet();
      log.warn(
          "A lock listener is {} events behind: it is not told of the newest", QUEUED_MAX, null);
      return;
    }
    boolean added = false;
    try {
      added = queue.add(callback);
    } finally {
      if (!added) {
        queued.decrementAndGet();
      }
    }
    retry();
  }

  /** Submits what could not be submitted before, if anything. Throws nothing. */
  public void retry() {
    if (queue.isEmpty() || draining.get()) {
      return;
    }
    long nowNanos = time.nanos();
    if (!submitted || nowNanos - submitAgainAtNanos >= 0) {
      submitAgainAtNanos = nowNanos + BEGUN_WITHIN_NANOS;
      submitted = true;
      workers.submit(drain);
    }
  }

  /** The time by which {@link #retry} must be called. */
  public long retryAtNanos() {
    return queue.isEmpty() || draining.get() ? time.nanos() + Nanos.FOREVER : submitAgainAtNanos;
  }

  /** Runs a callback on this thread; throws nothing. */
  static void guarded(Runnable callback) {
    try {
      callback.run();
    } catch (Throwable e) { // Code in other languages can throw undeclared checked exceptions.
      log.warn("A lock listener failed; it is called again for the next event", e, null);
    }
  }

  private void drainQueue() {
    // Even if the queue is empty: otherwise the next event would wait for the next retry.
    submitted = false;
    while (!queue.isEmpty() && draining.compareAndSet(false, true)) {
      try {
        for (Runnable next = queue.poll(); next != null; next = queue.poll()) {
          queued.decrementAndGet();
          guarded(next);
        }
      } finally {
        draining.set(false);
      }
    }
  }

  /**
   * Runs a task on the user's executor, which may run it on the submitting thread, or block that
   * thread. The task may be run twice.
   */
  private void execute(Runnable task) {
    if (users == null) {
      task.run();
      return;
    }
    try {
      users.execute(task);
    } catch (Throwable e) {
      log.warn(
          "The callback executor refused a lock callback; it runs on a thread of ours", e, null);
      task.run();
    }
  }

  private final class Drain extends Task {
    private final Runnable drainQueue = Callbacks.this::drainQueue;

    @Override
    protected void work() {
      execute(drainQueue);
    }
  }

  private static final class Line extends Task {
    private final Runnable line;

    Line(Runnable line) {
      this.line = line;
    }

    @Override
    protected void work() {
      line.run();
    }
  }

  private final class Single extends Task implements Runnable {
    private final Runnable callback;
    private final AtomicBoolean begun = new AtomicBoolean();

    Single(Runnable callback) {
      this.callback = callback;
    }

    @Override
    protected void work() {
      execute(this);
    }

    @Override
    public void run() {
      if (begun.compareAndSet(false, true)) {
        guarded(callback);
      }
    }
  }
}
