package io.holdfast.lock.jdbc;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.tck.GuardedWrites;
import io.holdfast.lock.tck.StoreAccess;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** A way to a database: one pool, shared by the clients of this access. */
class JdbcAccess implements StoreAccess {
  /** Opened ahead: on a busy machine a new connection can take longer than a store timeout. */
  private static final int IDLE_MAX = 40;

  private static final Duration POOL_FILL_MAX = Duration.ofSeconds(60);

  private final HikariDataSource pool;
  private final GuardedWrites guardedWrites;

  JdbcAccess(String url, String user, String password, int poolSize) {
    pool = pool(url, user, password, poolSize);
    guardedWrites = new JdbcGuardedWrites(pool);
  }

  static HikariDataSource pool(String url, String user, String password, int size) {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(url);
    config.setUsername(user);
    config.setPassword(password);
    config.setMaximumPoolSize(size);
    config.setMinimumIdle(Math.min(size, IDLE_MAX));
    return new HikariDataSource(config);
  }

  HikariDataSource pool() {
    return pool;
  }

  /** Waits until the connections that are opened ahead are there; a server may be starting. */
  void awaitPool() {
    awaitPool(pool);
  }

  static void awaitPool(HikariDataSource pool) {
    int wanted = Math.min(pool.getMaximumPoolSize(), IDLE_MAX);
    long deadline = System.nanoTime() + POOL_FILL_MAX.toNanos();
    while (pool.getHikariPoolMXBean().getTotalConnections() < wanted) {
      if (System.nanoTime() - deadline > 0) {
        throw new AssertionError("The pool was not filled within " + POOL_FILL_MAX);
      }
      LockSupport.parkNanos(10_000_000);
    }
  }

  @Override
  public LockClientBuilder<?> newClient() {
    return JdbcLocks.builder(pool).schema(SchemaMode.CREATE);
  }

  @Override
  public GuardedWrites guardedWrites() {
    return guardedWrites;
  }

  @Override
  public void close() {
    pool.close();
  }
}
