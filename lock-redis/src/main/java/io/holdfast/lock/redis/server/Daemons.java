package io.holdfast.lock.redis.server;

import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Daemon threads, alone or in pools. */
public final class Daemons {
  private static final long IDLE_SECONDS = 10;

  private Daemons() {}

  /**
   * Returns threads with this name and a number. One is started only if none is idle, and ends when
   * it was idle for some seconds; what they have no time for waits in a queue.
   */
  public static ThreadPoolExecutor pool(String name, int threadsMax) {
    AtomicInteger count = new AtomicInteger();
    IdleFirst queue = new IdleFirst();
    return new ThreadPoolExecutor(
        0,
        threadsMax,
        IDLE_SECONDS,
        TimeUnit.SECONDS,
        queue,
        task -> thread(name + '-' + count.incrementAndGet(), task),
        queue::enqueue);
  }

  /** Makes a thread, which inherits no thread locals from the one that happens to make it. */
  public static Thread thread(String name, Runnable task) {
    Thread thread = new Thread(null, task, name, 0, false);
    thread.setDaemon(true);
    return thread;
  }

  /**
   * A pool's queue, which takes a task at first only if an idle thread waits for one, since a pool
   * starts a thread only if its queue refuses. What gets no thread either is queued after all.
   */
  private static final class IdleFirst extends LinkedTransferQueue<Runnable> {
    private static final long serialVersionUID = 1;

    @Override
    public boolean offer(Runnable task) {
      return tryTransfer(task);
    }

    /** Queues a task for which the pool has no thread. */
    void enqueue(Runnable task, ThreadPoolExecutor pool) {
      boolean queued = !pool.isShutdown() && super.offer(task);
      if (!queued || (pool.isShutdown() && pool.remove(task))) {
        throw new RejectedExecutionException("The pool was shut down");
      }
      if (pool.getPoolSize() == 0) {
        // This thread slept until all others had ended: starts one, which looks into the queue.
        pool.execute(() -> {});
      }
    }
  }
}
