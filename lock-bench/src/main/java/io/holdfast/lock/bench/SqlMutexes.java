package io.holdfast.lock.bench;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;

/** A client each of whose threads keeps a connection of its own. */
abstract class SqlMutexes implements Client {
  private final String url;
  private final ThreadLocal<Connection> own = ThreadLocal.withInitial(this::connect);

  SqlMutexes(String url) {
    this.url = url;
  }

  private Connection connect() {
    try {
      return DriverManager.getConnection(url);
    } catch (SQLException e) {
      throw new IllegalStateException("cannot connect", e);
    }
  }

  static void throwUnlessDuplicate(SQLException e) throws SQLException {
    if (!String.valueOf(e.getSQLState()).startsWith("23")) {
      throw e;
    }
  }

  /** This thread's. */
  final Connection connection() {
    return own.get();
  }
}
