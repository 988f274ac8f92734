package io.holdfast.lock.internal;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs user code away from our own threads: loss listeners each on their own, listener events one
 * after the other. What user code throws is logged and goes no further.
 */
final class Callbacks {
  private static final Logger log = LoggerFactory.getLogger(Callbacks.class);

  private final Executor executor;
  private final Executor fallback;

  private final ReentrantLock mutex = new ReentrantLock();

  /** Guarded by the mutex. */
  private final Queue<Runnable> queue = new ArrayDeque<>();

  /** Guarded by the mutex. */
  private boolean draining;

  /**
   * @param executor the user's, or ours
   * @param fallback takes what the executor rejects
   */
  Callbacks(Executor executor, Executor fallback) {
    this.executor = executor;
    this.fallback = fallback;
  }

  /** Runs it on its own. */
  void run(Runnable callback) {
    execute(() -> guarded(callback));
  }

  /** Runs it after those that were given in order before. */
  void runInOrder(Runnable callback) {
    mutex.lock();
    try {
      queue.add(callback);
      if (draining) {
        return;
      }
      draining = true;
    } finally {
      mutex.unlock();
    }
    execute(this::drain);
  }

  /** Runs it here and now. */
  static void guarded(Runnable callback) {
    try {
      callback.run();
    } catch (RuntimeException | Error e) {
      log.warn("A lock listener failed; it is called again for the next event", e);
    }
  }

  private void drain() {
    for (Runnable next = next(); next != null; next = next()) {
      guarded(next);
    }
  }

  private @Nullable Runnable next() {
    mutex.lock();
    try {
      Runnable next = queue.poll();
      draining = next != null;
      return next;
    } finally {
      mutex.unlock();
    }
  }

  private void execute(Runnable task) {
    try {
      executor.execute(task);
    } catch (RejectedExecutionException e) {
      log.warn("The callback executor rejected a lock callback; it runs on a thread of ours", e);
      fallback.execute(task);
    }
  }
}
