package io.holdfast.lock.internal.task;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Makes a client's threads: daemons named {@code holdfast-CLIENT-SORT-n}. They inherit no thread
 * locals from the thread that happens to start them, and their context class loader is that of the
 * thread that built the client.
 */
public final class EngineThreads {
  private final String clientName;
  private final @Nullable ClassLoader contextClassLoader =
      Thread.currentThread().getContextClassLoader();

  /** Makes the threads of a client of this name. */
  public EngineThreads(String clientName) {
    this.clientName = clientName;
  }

  /** Returns a factory of threads for one sort of work. */
  public ThreadFactory named(String sort) {
    AtomicInteger number = new AtomicInteger();
    return task -> thread(task, name(sort) + "-" + number.incrementAndGet());
  }

  /** Makes the only thread of its sort; does not start it. */
  public Thread only(String sort, Runnable task) {
    return thread(task, name(sort));
  }

  private String name(String sort) {
    return "holdfast-" + clientName + "-" + sort;
  }

  private Thread thread(Runnable task, String name) {
    Thread thread = new Thread(null, task, name, 0, false);
    thread.setDaemon(true);
    thread.setContextClassLoader(contextClassLoader);
    return thread;
  }
}
