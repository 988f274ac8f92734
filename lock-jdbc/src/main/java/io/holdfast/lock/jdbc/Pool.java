package io.holdfast.lock.jdbc;

import io.holdfast.lock.spi.Deadline;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import javax.sql.DataSource;

/**
 * The user's data source, as a lender of connections that are nobody's: with autocommit, or with
 * the user's word that a connection without it still is in no transaction.
 *
 * <p>Threads: safe for all.
 */
final class Pool implements Lender, AutoCloseable {
  /** Pools give out a connection that was used so lately without checking it first. */
  private static final long WARM_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  /** An outage that makes every connection useless must not become a storm of new ones. */
  private static final long DISCARD_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(20);

  private static final String REMEDY =
      "pass the data source that the proxy wraps, the pool itself: what Holdfast writes must be"
          + " committed at once, and never with your data";

  /** Data sources that may hand out a connection that is inside the caller's transaction. */
  private static final Set<String> PROXIES = Set.of(
      "org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy",
      "org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy",
      "org.springframework.jdbc.datasource.SmartDataSource");

  /** What the connections of such data sources implement. */
  private static final String CONNECTION_PROXY =
      "org.springframework.jdbc.datasource.ConnectionProxy";

  private static final ClassValue<Boolean> IS_CONNECTION_PROXY = new ClassValue<>() {
    @Override
    protected Boolean computeValue(Class<?> type) {
      return isNamed(type, Set.of(CONNECTION_PROXY));
    }
  };

  private final PoolWatch watch;
  private final Borrowers borrowers;
  private final boolean withoutAutoCommit;

  /** When a connection was last given back in order. */
  private volatile long usedAtNanos = System.nanoTime() - WARM_NANOS;

  private final AtomicLong discardedAtNanos = new AtomicLong(System.nanoTime() - DISCARD_NANOS_MIN);

  /**
   * @param withoutAutoCommit whether the user affirmed that connections without autocommit are in
   *     no transaction
   * @throws IllegalStateException a transaction-aware proxy whose pool can't be got at safely
   */
  Pool(DataSource given, boolean withoutAutoCommit, Duration storeTimeout, String clientName) {
    DataSource dataSource = SpringProxies.inside(given);
    refuseProxy(dataSource);
    this.watch =
        new PoolWatch(dataSource, storeTimeout.toNanos(), "holdfast-" + clientName + "-pool-watch");
    this.borrowers = new Borrowers(watch, "holdfast-" + clientName + "-borrower");
    this.withoutAutoCommit = withoutAutoCommit;
  }

  @Override
  public Connection lend(Deadline deadline) throws NoConnectionException {
    // The hop to another thread is spared where it would be felt.
    boolean warm = System.nanoTime() - usedAtNanos < WARM_NANOS;
    Connection connection = warm ? watch.borrow(deadline) : borrowers.borrow(deadline);
    boolean fit = false;
    try {
      if (IS_CONNECTION_PROXY.get(connection.getClass())) {
        throw NoConnectionException.unfit(
            "The data source is a transaction-aware proxy: " + REMEDY);
      }
      if (!withoutAutoCommit && !connection.getAutoCommit()) {
        throw NoConnectionException.unfit(
            "The data source gave a connection without autocommit, which may be inside somebody's"
                + " transaction. If it is a transaction-aware proxy, "
                + REMEDY
                + ". If it is the pool itself, configured without autocommit, say so with"
                + " rawPoolWithoutAutoCommit() on the builder");
      }
      fit = true;
      return connection;
    } catch (SQLException e) {
      throw NoConnectionException.none("The data source gave a broken connection: " + e, e);
    } finally {
      if (!fit) {
        giveBack(connection, true);
      }
    }
  }

  @Override
  public void giveBack(Connection connection, boolean usable) {
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

  /** Ends the threads; what they borrow late is given back. */
  @Override
  public void close() {
    borrowers.close();
    watch.close();
  }

  private static void refuseProxy(DataSource dataSource) {
    boolean proxy = isNamed(dataSource.getClass(), PROXIES);
    for (String name : PROXIES) {
      proxy = proxy || wraps(dataSource, name);
    }
    if (proxy) {
      throw new IllegalStateException("The data source "
          + dataSource.getClass().getName()
          + " is a transaction-aware proxy: "
          + REMEDY);
    }
  }

  /** Whether a wrapper of the user's (metrics, tracing) has such a data source inside. */
  private static boolean wraps(DataSource dataSource, String name) {
    try {
      ClassLoader loader = dataSource.getClass().getClassLoader();
      return dataSource.isWrapperFor(Class.forName(name, false, loader));
    } catch (ClassNotFoundException | LinkageError | SQLException | RuntimeException e) {
      return false; // The class is not there, or the wrapper does not tell.
    }
  }

  /** Whether the type, or one that it extends or implements, has one of these names. */
  private static boolean isNamed(Class<?> type, Set<String> names) {
    for (Class<?> t = type; t != null; t = t.getSuperclass()) {
      if (names.contains(t.getName())) {
        return true;
      }
      for (Class<?> i : t.getInterfaces()) {
        if (isNamed(i, names)) {
          return true;
        }
      }
    }
    return false;
  }
}
