package io.holdfast.lock.bench;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;

/** One connection, for set-up and for reading a server's counters. */
final class Sql implements AutoCloseable {
  static final String PASSWORD = "holdfast";

  private static final Set<String> THERE_ALREADY = Set.of("23505", "42P07", "42710");
  private static final int ATTEMPTS_MAX = 40;

  private final Connection connection;

  Sql(String url) {
    this.connection = connect(url);
  }

  /** Patient: a server that says it is ready may still refuse. */
  private static Connection connect(String url) {
    for (int attempt = 1; ; attempt++) {
      try {
        return DriverManager.getConnection(url);
      } catch (SQLException e) {
        if (attempt == ATTEMPTS_MAX) {
          throw new IllegalStateException("the database cannot be reached", e);
        }
        pause();
      }
    }
  }

  private static void pause() {
    try {
      Thread.sleep(500);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
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
   * Makes a table, unless another JVM has, or just does: then PostgreSQL refuses "if not exists".
   */
  void create(String statement) {
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
      // The server ends anyway.
    }
  }
}
