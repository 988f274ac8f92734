package io.holdfast.lock.internal.task;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Makes a client's threads: daemons named {@code holdfast-SORT-CLIENT-n}. None inherits anything of
 * the thread that happens to need it: neither its thread locals nor its context class loader, which
 * is that of the thread that built the client.
 */
public final class EngineThreads {
  private final String clientName;
  private final @Nullable ClassLoader contextClassLoader =
      Thread.currentThread().getContextClassLoader();

  /** For a client of this name. */
  public EngineThreads(String clientName) {
    this.clientName = clientName;
  }

  /** For one sort of work. */
  public ThreadFactory named(String sort) {
    AtomicInteger number = new AtomicInteger();
    return task -> thread(task, name(sort) + "-" + number.incrementAndGet());
  }

  /** The only thread of its sort, not started. */
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
