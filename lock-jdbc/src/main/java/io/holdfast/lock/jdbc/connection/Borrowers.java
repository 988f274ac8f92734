package io.holdfast.lock.jdbc.connection;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.sql.Connection;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Threads that borrow from the pool in the caller's place. Before a pool hands out idle
 * connections, it checks one after the other, and while the database does not answer, each check
 * takes seconds and cannot be cut short. But a caller can stop waiting for another thread; a
 * connection that arrives too late is given back.
 *
 * <p>Threads: safe for use by any number of threads.
 */
final class Borrowers implements AutoCloseable {
  /** The most threads, so that an outage does not start one for each caller. */
  private static final int THREADS_MAX = 8;

  private static final long IDLE_SECONDS = 10;

  private final PoolWatch watch;
  private final ThreadPoolExecutor threads;

  Borrowers(PoolWatch watch, String threadName) {
    this.watch = watch;
    AtomicInteger number = new AtomicInteger();
    threads = new ThreadPoolExecutor(
        THREADS_MAX,
        THREADS_MAX,
        IDLE_SECONDS,
        TimeUnit.SECONDS,
        new LinkedBlockingQueue<>(),
        task -> {
          Thread thread = new Thread(task, threadName + "-" + number.incrementAndGet());
          thread.setDaemon(true);
          return thread;
        });
    threads.allowCoreThreadTimeOut(true);
  }

  /**
   * Borrows a connection within the deadline. An interrupt does not end the wait; the flag stays
   * set.
   */
  Connection borrow(Deadline deadline) throws StoreException {
    CompletableFuture<Connection> borrowed = new CompletableFuture<>();
    threads.execute(() -> borrow(deadline, borrowed));
    return deadline.awaitUninterruptibly(leftNanos -> await(borrowed, leftNanos, deadline));
  }

  private Connection await(
      CompletableFuture<Connection> borrowed, long leftNanos, Deadline deadline)
      throws StoreException, InterruptedException {
    try {
      return borrowed.get(leftNanos, TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      if (!borrowed.completeExceptionally(e)) {
        return await(borrowed, 0, deadline); // The connection came at just this moment.
      }
      throw StoreException.refused(
          "The data source gave no connection within " + deadline.whole() + ": " + watch.whyNone(),
          e);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof StoreException none) {
        throw none;
      }
      throw StoreException.refused(
          "The data source gave no connection: " + e.getCause(), e.getCause());
    }
  }

  private void borrow(Deadline deadline, CompletableFuture<Connection> borrowed) {
    if (borrowed.isDone()) {
      return; // The caller gave up while this was queued.
    }
    try {
      Connection connection = watch.borrow(deadline);
      if (!borrowed.complete(connection)) {
        Sessions.closeQuietly(connection);
      }
    } catch (StoreException | RuntimeException e) {
      borrowed.completeExceptionally(e);
    } catch (Error e) {
      borrowed.completeExceptionally(e);
      throw e;
    }
  }

  @Override
  public void close() {
    threads.shutdown();
  }
}
