package io.holdfast.lock.internal.event;

import io.holdfast.lock.internal.log.SafeLogger;
import io.holdfast.lock.internal.task.Task;
import io.holdfast.lock.internal.task.Workers;
import java.lang.ref.WeakReference;
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

  /** The number of pending events from which on newer ones are dropped. */
  private static final int QUEUED_MAX = 10_000;

  private final Workers workers;
  private final @Nullable Executor userExecutor;

  private final Queue<Runnable> queue = new ConcurrentLinkedQueue<>();
  private final AtomicInteger queued = new AtomicInteger();
  private final AtomicBoolean draining = new AtomicBoolean();

  /** Whether events were dropped since the queue was last empty; of the first a line is logged. */
  private final AtomicBoolean dropping = new AtomicBoolean();

  /**
   * The task that was passed to the executor to tell the pending events, until it begins. Referred
   * to weakly: an executor that is busy keeps it, and one that dropped it gets another.
   */
  private volatile @Nullable WeakReference<Telling> passedOn;

  private final Task passOn = Task.of(this::passOn);

  /** @param userExecutor the user's executor, if there is one */
  public Callbacks(Workers workers, @Nullable Executor userExecutor) {
    this.workers = workers;
    this.userExecutor = userExecutor;
  }

  /** Runs a callback once, independently of others. */
  void run(Runnable callback) {
    workers.submit(new Single(callback));
  }

  /** Writes a line of the log on one of the client's threads: an appender can block. */
  public void log(Runnable line) {
    workers.submit(Task.of(line));
  }

  /**
   * Runs a callback after those that were passed to this method before; drops it if too many wait.
   */
  void runInOrder(Runnable callback) {
    if (queued.get() >= QUEUED_MAX) {
      if (dropping.compareAndSet(false, true)) {
        log(() -> log.warn(
            "A lock listener is {} events behind: it is not told of the newest", QUEUED_MAX, null));
      }
      return;
    }
    queue.add(callback);
    if (queued.getAndIncrement() == 0) {
      workers.submit(passOn);
    }
  }

  /**
   * Whether events are pending and nobody tells them: the user's executor may be busy, or may have
   * dropped the task that was to do it.
   */
  public boolean isBehind() {
    return !queue.isEmpty() && !draining.get();
  }

  /** Has the pending events told, as far as that is not under way. Throws nothing. */
  public void retry() {
    if (isBehind() && !isPassedOn()) {
      workers.submit(passOn);
    }
  }

  /** Runs a callback on this thread; throws nothing. */
  static void guarded(Runnable callback) {
    try {
      callback.run();
    } catch (Throwable e) { // Code in other languages can throw undeclared checked exceptions.
      log.warn("A listener of lock events or losses failed", e, null);
    }
  }

  private boolean isPassedOn() {
    WeakReference<Telling> last = passedOn;
    return last != null && last.get() != null;
  }

  /** Passes the pending events on, once for all. Never runs on two threads at once. */
  private void passOn() {
    if (isBehind() && !isPassedOn()) {
      Telling telling = new Telling();
      passedOn = new WeakReference<>(telling);
      execute(telling);
    }
  }

  /** Tells the pending events, and those that come meanwhile. */
  private final class Telling implements Runnable {
    @Override
    public void run() {
      // First, so that an event that comes too late for this run is passed on.
      passedOn = null;
      drainQueue();
    }
  }

  private void drainQueue() {
    while (!queue.isEmpty() && draining.compareAndSet(false, true)) {
      try {
        for (Runnable next = queue.poll(); next != null; next = queue.poll()) {
          queued.decrementAndGet();
          guarded(next);
        }
        dropping.set(false);
      } finally {
        draining.set(false);
      }
    }
  }

  /**
   * Runs a task on the user's executor, which may run it on the submitting thread, or block that
   * thread. It may run it any number of times.
   */
  private void execute(Runnable task) {
    if (userExecutor == null) {
      task.run();
      return;
    }
    try {
      userExecutor.execute(task);
    } catch (Throwable e) {
      log.warn(
          "The callback executor refused a lock callback; it runs on a thread of ours", e, null);
      task.run();
    }
  }

  /** A callback that runs once, even if its task runs twice. */
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
