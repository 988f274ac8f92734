package io.holdfast.lock.bench.server;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;

/** One connection to a database, for set-up and for reading the server's counters. */
public final class Sql implements AutoCloseable {
  static final String PASSWORD = "holdfast";

  private static final Set<String> THERE_ALREADY = Set.of("23505", "42P07", "42710");
  private static final int ATTEMPTS_MAX = 240;
  private static final long PAUSE_NANOS = 500_000_000;

  private final Connection connection;

  public Sql(String url) {
    this.connection = connect(url);
  }

  /** Connects, with several tries: a server that claims to be ready may still refuse. */
  private static Connection connect(String url) {
    for (int attempt = 1; ; attempt++) {
      try {
        return DriverManager.getConnection(url);
      } catch (SQLException e) {
        if (attempt == ATTEMPTS_MAX) {
          throw new IllegalStateException("the database cannot be reached", e);
        }
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    }
  }

  void run(String... statements) {
    try (Statement statement = connection.createStatement()) {
      for (String one : statements) {
        statement.execute(one);
      }
    } catch (SQLException e) {
      throw new IllegalStateException("the database refuses", e);
    }
  }

  /**
   * Creates a table, unless another JVM has created it. If another one is just creating it,
   * PostgreSQL refuses even "if not exists".
   */
  public void create(String statement) {
    try (Statement create = connection.createStatement()) {
      create.execute(statement);
    } catch (SQLException e) {
      if (!THERE_ALREADY.contains(e.getSQLState())) {
        throw new IllegalStateException("the database refuses", e);
      }
    }
  }

  String text(String query) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(query)) {
      rows.next();
      return rows.getString(1);
    }
  }

  @Override
  public void close() {
    try {
      connection.close();
    } catch (SQLException e) {
      // The server is stopped anyway.
    }
  }
}
