package io.holdfast.lock.jdbc.connection;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import javax.sql.DataSource;

/**
 * The user's data source, as a lender of connections that are in nobody's transaction: with
 * autocommit, or without it if the user confirmed that they are in no transaction.
 *
 * <p>Threads: safe for use by any number of threads.
 */
public final class Pool implements Lender, AutoCloseable {
  /** The time since its last use within which pools hand out a connection without checking it. */
  private static final long WARM_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  /**
   * The shortest time between two discarded connections: an outage that makes every connection
   * useless must not cause a storm of new ones.
   */
  private static final long DISCARD_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(20);

  private final PoolWatch watch;
  private final Borrowers borrowers;
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
    this.borrowers = new Borrowers(watch, "holdfast-" + clientName + "-borrower");
    this.withoutAutoCommit = withoutAutoCommit;
  }

  @Override
  public Lent lend(Deadline deadline) throws StoreException {
    // While the pool is warm, borrow on this thread, since a switch to another one would be
    // noticeable.
    boolean warm = System.nanoTime() - usedAtNanos < WARM_NANOS;
    Connection connection = warm ? watch.borrow(deadline) : borrowers.borrow(deadline);
    boolean fit = false;
    try {
      if (SpringProxies.isProxy(connection)) {
        throw unfit("The data source is a transaction-aware proxy: " + SpringProxies.REMEDY);
      }
      if (!withoutAutoCommit && !connection.getAutoCommit()) {
        throw unfit(
            "The data source gave a connection without autocommit, which may be inside somebody's"
                + " transaction. If it is a transaction-aware proxy, "
                + SpringProxies.REMEDY
                + ". If it is the pool itself, configured without autocommit, say so with"
                + " rawPoolWithoutAutoCommit() on the builder");
      }
      fit = true;
      return new Lent(connection, this::giveBack);
    } catch (SQLException e) {
      throw StoreException.refused("The data source gave a broken connection: " + e, e);
    } finally {
      if (!fit) {
        giveBack(connection, true);
      }
    }
  }

  private static StoreException unfit(String message) {
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
    borrowers.close();
    watch.close();
  }
}
