package io.holdfast.lock.bench;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;

/**
 * A client each of whose threads keeps a connection of its own, and prepares each statement once,
 * however many locks there are.
 */
abstract class SqlMutexes implements Client {
  private final String url;
  private final ThreadLocal<Connection> own = ThreadLocal.withInitial(this::connect);
  private final ThreadLocal<Map<String, PreparedStatement>> statements =
      ThreadLocal.withInitial(HashMap::new);

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

  /** This thread's. */
  final PreparedStatement statement(String sql) throws SQLException {
    Map<String, PreparedStatement> known = statements.get();
    PreparedStatement statement = known.get(sql);
    if (statement == null) {
      statement = connection().prepareStatement(sql);
      known.put(sql, statement);
    }
    return statement;
  }
}
