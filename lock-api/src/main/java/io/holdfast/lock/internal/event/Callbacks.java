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
 * Runs user code away from the engine's own threads: loss listeners each on their own, listener
 * events one after the other. An exception of user code is logged and goes no further.
 */
public final class Callbacks {
  private static final SafeLogger log = SafeLogger.of(Callbacks.class);

  /** More events than this are not kept for a listener that does not get on. */
  private static final int QUEUED_MAX = 10_000;

  /**
   * A user's executor that has not begun a task after so long is asked again: it may drop tasks.
   */
  private static final long BEGUN_WITHIN_NANOS = 1_000_000_000;

  private final Workers workers;
  private final @Nullable Executor users;
  private final TimeSource time;

  private final Queue<Runnable> queue = new ConcurrentLinkedQueue<>();
  private final AtomicInteger queued = new AtomicInteger();
  private final AtomicBoolean draining = new AtomicBoolean();
  private final Drain drain = new Drain();

  /** The time at which a drain that has not begun is submitted again. */
  private volatile long submitAgainAtNanos;

  private volatile boolean submitted;

  /** @param users the user's, if there is one */
  public Callbacks(Workers workers, @Nullable Executor users, TimeSource time) {
    this.workers = workers;
    this.users = users;
    this.time = time;
  }

  /** Runs it on its own, once. */
  void run(Runnable callback) {
    workers.submit(new Single(callback));
  }

  /** Writes a line of the log on a thread of ours: an appender can block. */
  public void log(Runnable line) {
    workers.submit(new Line(line));
  }

  /** Runs it after those that were given in order before. */
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

  /** Submits what has been left lying, if anything has. Throws nothing. */
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

  /** The time at which {@link #retry} is to be called if nothing comes before. */
  public long retryAtNanos() {
    return queue.isEmpty() || draining.get() ? time.nanos() + Nanos.FOREVER : submitAgainAtNanos;
  }

  /** Runs it here and now; throws nothing. */
  static void guarded(Runnable callback) {
    try {
      callback.run();
    } catch (Throwable e) { // Other languages throw checked exceptions too.
      log.warn("A lock listener failed; it is called again for the next event", e, null);
    }
  }

  private void drainQueue() {
    // Though the queue is empty, too: else the next event would wait for the next try.
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
   * On the user's executor, which may run the task, or block, on the thread that asks it. The task
   * bears being run twice.
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
