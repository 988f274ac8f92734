package io.holdfast.lock.bench.candidate;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;

/**
 * A client whose threads each keep a connection of their own, and prepare each statement once,
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

  /** Runs a query about a name; returns whether it has a row. */
  static boolean query(PreparedStatement query, String name) throws SQLException {
    query.setString(1, name);
    try (ResultSet rows = query.executeQuery()) {
      return rows.next();
    }
  }

  static void insertIfAbsent(PreparedStatement insert, String name) throws SQLException {
    insert.setString(1, name);
    try {
      insert.executeUpdate();
    } catch (SQLException e) {
      if (!String.valueOf(e.getSQLState()).startsWith("23")) {
        throw e;
      }
    }
  }

  /** Returns this thread's connection. */
  final Connection connection() {
    return own.get();
  }

  /** Returns this thread's prepared statement. */
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
