package io.holdfast.lock.redis;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Daemon threads that are started as needed, and end when they were idle for some seconds. */
final class Daemons {
  private static final long IDLE_SECONDS = 10;

  private Daemons() {}

  /** Returns threads with this name and a number; what they have no time for waits in a queue. */
  static ThreadPoolExecutor pool(String name, int threadsMax) {
    AtomicInteger count = new AtomicInteger();
    ThreadPoolExecutor pool = new ThreadPoolExecutor(
        threadsMax,
        threadsMax,
        IDLE_SECONDS,
        TimeUnit.SECONDS,
        new LinkedBlockingQueue<>(),
        task -> {
          Thread thread = new Thread(null, task, name + '-' + count.incrementAndGet(), 0, false);
          thread.setDaemon(true);
          return thread;
        });
    pool.allowCoreThreadTimeOut(true);
    return pool;
  }
}
