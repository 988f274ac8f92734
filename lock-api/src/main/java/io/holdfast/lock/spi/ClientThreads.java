package io.holdfast.lock.spi;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Makes the threads of a client and of its store: daemons named {@code holdfast-SORT-CLIENT}, with
 * a number behind that where there may be several. They inherit no thread locals from the thread
 * that happens to start them, and their context class loader is that of the thread that built the
 * client.
 *
 * <p>Threads: safe for use by any number of threads.
 */
public final class ClientThreads {
  private static final long IDLE_SECONDS = 10;

  private final String clientName;
  private final @Nullable ClassLoader contextClassLoader =
      Thread.currentThread().getContextClassLoader();

  /** Makes the threads of a client of this name. */
  public ClientThreads(String clientName) {
    this.clientName = clientName;
  }

  /** Returns a factory of threads for one sort of work, with numbers from 1 on. */
  public ThreadFactory named(String sort) {
    AtomicInteger number = new AtomicInteger();
    return task -> thread(task, name(sort) + "-" + number.incrementAndGet());
  }

  /**
   * Returns a pool for one sort of work: at most that many threads, which are started as needed and
   * end when they were idle for some seconds. What they have no time for waits in a queue.
   */
  public ThreadPoolExecutor pool(String sort, int threadsMax) {
    ThreadPoolExecutor pool = new ThreadPoolExecutor(
        threadsMax,
        threadsMax,
        IDLE_SECONDS,
        TimeUnit.SECONDS,
        new LinkedBlockingQueue<>(),
        named(sort));
    pool.allowCoreThreadTimeOut(true);
    return pool;
  }

  /** Makes the only thread of its sort; does not start it. */
  public Thread only(String sort, Runnable task) {
    return thread(task, name(sort));
  }

  private String name(String sort) {
    return "holdfast-" + sort + "-" + clientName;
  }

  private Thread thread(Runnable task, String name) {
    Thread thread = new Thread(null, task, name, 0, false);
    thread.setDaemon(true);
    thread.setContextClassLoader(contextClassLoader);
    return thread;
  }
}
