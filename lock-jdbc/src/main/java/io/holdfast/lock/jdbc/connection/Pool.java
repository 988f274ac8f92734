package io.holdfast.lock.jdbc.connection;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import javax.sql.DataSource;

/**
 * The user's data source, as a lender of connections that are in nobody's transaction: with
 * autocommit, or without it if the user confirmed that they are in no transaction.
 *
 * <p>Before a pool hands out connections that were idle, it checks one after the other. While the
 * database does not answer, each check takes seconds and cannot be cut short, but a caller can stop
 * waiting for another thread. So, unless the pool was used just now, other threads borrow for the
 * caller; a connection that arrives too late is given back.
 *
 * <p>Threads: safe for use by any number of threads.
 */
public final class Pool implements Lender, AutoCloseable {
  /**
   * For so long after a connection worked, the caller borrows on its own thread. A guess: the pool
   * may give another connection, which it checks first; that check can outlast the deadline.
   */
  private static final long WARM_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  /**
   * The shortest time between two discarded connections: an outage that makes every connection
   * useless must not cause a storm of new ones.
   */
  private static final long DISCARD_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(20);

  private static final String IF_MANAGED =
      "If it is managed (JTA, XA), pass one that takes no part in transactions";

  /** The most borrowing threads, or an outage would start one for each caller. */
  private static final int BORROWERS_MAX = 8;

  private static final long IDLE_SECONDS = 10;

  private final PoolWatch watch;
  private final ThreadPoolExecutor borrowers;
  private final boolean withoutAutoCommit;

  /** The time at which a working connection was last given back. */
  private volatile long usedAtNanos = System.nanoTime() - WARM_NANOS;

  private final AtomicLong discardedAtNanos = new AtomicLong(System.nanoTime() - DISCARD_NANOS_MIN);

  /**
   * @param withoutAutoCommit whether the user confirmed that connections without autocommit are in
   *     no transaction
   * @throws IllegalStateException the data source is a transaction-aware proxy whose pool can't be
   *     reached safely
   */
  public Pool(
      DataSource given, boolean withoutAutoCommit, Duration storeTimeout, String clientName) {
    DataSource dataSource = SpringProxies.inside(given);
    SpringProxies.refuse(dataSource);
    this.watch =
        new PoolWatch(dataSource, storeTimeout.toNanos(), "holdfast-" + clientName + "-pool-watch");
    AtomicInteger number = new AtomicInteger();
    this.borrowers = new ThreadPoolExecutor(
        BORROWERS_MAX,
        BORROWERS_MAX,
        IDLE_SECONDS,
        TimeUnit.SECONDS,
        new LinkedBlockingQueue<>(),
        task -> {
          String name = "holdfast-" + clientName + "-borrower-" + number.incrementAndGet();
          Thread thread = new Thread(null, task, name, 0, false);
          thread.setDaemon(true);
          return thread;
        });
    borrowers.allowCoreThreadTimeOut(true);
    this.withoutAutoCommit = withoutAutoCommit;
  }

  /** Lends a connection, to be {@linkplain #check checked} by the thread that uses it. */
  @Override
  public Lent lend(Deadline deadline) throws StoreException {
    // A switch to another thread would cost a noticeable part of a fast borrow.
    boolean warm = System.nanoTime() - usedAtNanos < WARM_NANOS;
    return new Lent(warm ? watch.borrow(deadline) : borrowElsewhere(deadline), this::giveBack);
  }

  /**
   * Checks that a statement of this thread would be in nobody's transaction. JTA pools have a
   * connection join the thread's transaction when a statement is made.
   *
   * @throws StoreException the connection is broken, or may be in somebody's transaction
   */
  public void check(Lent lent) throws StoreException {
    Connection connection = lent.connection();
    try {
      if (SpringProxies.isProxy(connection)) {
        throw unfit(lent, "The data source is a transaction-aware proxy: " + SpringProxies.REMEDY);
      }
      if (withoutAutoCommit) {
        return;
      }
      connection.createStatement().close();
      if (!connection.getAutoCommit()) {
        throw unfit(
            lent,
            "The data source gave a connection without autocommit, which may be inside somebody's"
                + " transaction. If it is a transaction-aware proxy, "
                + SpringProxies.REMEDY
                + ". "
                + IF_MANAGED
                + ". If it is the pool itself, configured without autocommit, say so with"
                + " rawPoolWithoutAutoCommit() on the builder");
      }
    } catch (SQLException | RuntimeException e) {
      // Nothing was sent. If it is closed, its pool has noticed that, too.
      lent.markUsable();
      throw StoreException.refused(
          "The data source gave a connection that can't be used: " + e + ". " + IF_MANAGED,
          // An IllegalStateException would mean that the data source is not fit for use.
          e instanceof SQLException ? e : new SQLException(e));
    }
  }

  /**
   * Borrows a connection on another thread, within the deadline. An interrupt does not end the
   * wait; the flag stays set.
   */
  private Connection borrowElsewhere(Deadline deadline) throws StoreException {
    CompletableFuture<Connection> borrowed = new CompletableFuture<>();
    try {
      borrowers.execute(() -> borrow(deadline, borrowed));
    } catch (OutOfMemoryError e) { // No thread is to be had.
      borrowed.completeExceptionally(e);
    }
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
      throw watch.none(deadline, e);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof StoreException none) {
        throw none;
      }
      throw StoreException.refused("The data source gave no connection: " + e.getCause(), e);
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
    } catch (Throwable e) { // The caller is told.
      borrowed.completeExceptionally(e);
    }
  }

  /** Runs a task on another thread, or else, if none is to be had, runs the other one here. */
  void later(Runnable task, Runnable otherwise) {
    try {
      borrowers.execute(task);
    } catch (RejectedExecutionException | OutOfMemoryError e) { // Closed, or no thread.
      otherwise.run();
    }
  }

  /** Whether a connection lost its autocommit, since a statement had it join a transaction. */
  boolean hasJoined(Connection connection) throws SQLException {
    return !withoutAutoCommit && !connection.getAutoCommit();
  }

  /** Makes the exception for a data source that is not fit for use; the connection works. */
  static StoreException unfit(Lent lent, String message) {
    lent.markUsable();
    return StoreException.refused(message, new IllegalStateException(message));
  }

  private void giveBack(Connection connection, boolean usable) {
    long now = System.nanoTime();
    if (usable) {
      usedAtNanos = now;
    } else {
      long before = discardedAtNanos.get();
      if (now - before >= DISCARD_NANOS_MIN && discardedAtNanos.compareAndSet(before, now)) {
        Sessions.breakQuietly(connection);
      }
    }
    Sessions.closeQuietly(connection);
  }

  /** Ends the threads; connections that they borrow too late are given back. */
  @Override
  public void close() {
    borrowers.shutdown();
    watch.close();
  }
}
