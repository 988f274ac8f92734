package io.holdfast.lock.redis.server;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Daemon threads, alone or in pools. */
public final class Daemons {
  private static final long IDLE_SECONDS = 10;

  private Daemons() {}

  /**
   * Returns threads with this name and a number. They are started as needed, and end when they were
   * idle for some seconds; what they have no time for waits in a queue.
   */
  public static ThreadPoolExecutor pool(String name, int threadsMax) {
    AtomicInteger count = new AtomicInteger();
    ThreadPoolExecutor pool = new ThreadPoolExecutor(
        threadsMax,
        threadsMax,
        IDLE_SECONDS,
        TimeUnit.SECONDS,
        new LinkedBlockingQueue<>(),
        task -> thread(name + '-' + count.incrementAndGet(), task));
    pool.allowCoreThreadTimeOut(true);
    return pool;
  }

  /** Makes a thread, which inherits no thread locals from the one that happens to make it. */
  public static Thread thread(String name, Runnable task) {
    Thread thread = new Thread(null, task, name, 0, false);
    thread.setDaemon(true);
    return thread;
  }
}
