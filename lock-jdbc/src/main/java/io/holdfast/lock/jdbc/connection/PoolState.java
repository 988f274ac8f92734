package io.holdfast.lock.jdbc.connection;

import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.HikariPoolMXBean;
import java.sql.SQLException;
import javax.sql.DataSource;

/** The reason why a pool gives no connection, as far as the pool tells it. */
final class PoolState {
  private static final String UNKNOWN =
      "the application has exhausted the pool (enlarge it, or hold connections for less time), or"
          + " the database does not answer";

  private PoolState() {}

  /** Returns the reason, and what to do about it. No I/O. */
  static String whyNone(DataSource dataSource) {
    try {
      return Hikari.whyNone(dataSource);
    } catch (SQLException | RuntimeException | LinkageError e) {
      // It is another pool, or HikariCP is not visible.
      return UNKNOWN;
    }
  }

  /** The code that links to HikariCP, which may be absent. */
  private static final class Hikari {
    static String whyNone(DataSource dataSource) throws SQLException {
      HikariDataSource hikari = dataSource.unwrap(HikariDataSource.class);
      HikariPoolMXBean pool = hikari.getHikariPoolMXBean();
      if (pool == null) {
        return "the database does not answer, or refuses the login: the pool never had a connection";
      }
      int size = hikari.getMaximumPoolSize();
      int active = pool.getActiveConnections();
      return active >= size
          ? ("the application has exhausted the pool, whose %s connections are all in use: enlarge"
                  + " it, or hold connections for less time")
              .formatted(size)
          : ("the database does not answer: of the pool's %s connections only %s are in use, and it"
                  + " opens or checks another one")
              .formatted(size, active);
    }
  }
}
