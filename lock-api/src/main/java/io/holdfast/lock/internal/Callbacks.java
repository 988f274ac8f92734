package io.holdfast.lock.internal;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
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

  private final Executor own;
  private final @Nullable Executor users;

  private final ReentrantLock mutex = new ReentrantLock();

  /** Guarded by the mutex. */
  private final Queue<Runnable> queue = new ArrayDeque<>();

  /** Guarded by the mutex. */
  private boolean draining;

  /**
   * @param own runs a task on a thread of ours, and never refuses
   * @param users the user's, if there is one
   */
  Callbacks(Executor own, @Nullable Executor users) {
    this.own = own;
    this.users = users;
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
    } catch (Throwable e) { // Other languages throw checked exceptions too.
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
    if (users == null) {
      own.execute(task);
    } else {
      // The user's executor may run the task, or block, on the thread that asks it.
      own.execute(() -> executeAtUsers(users, task));
    }
  }

  private static void executeAtUsers(Executor users, Runnable task) {
    AtomicBoolean begun = new AtomicBoolean();
    Runnable once = () -> {
      if (begun.compareAndSet(false, true)) {
        task.run();
      }
    };
    try {
      users.execute(once);
    } catch (RuntimeException | Error e) {
      log.warn("The callback executor refused a lock callback; it runs on a thread of ours", e);
      once.run();
    }
  }
}
