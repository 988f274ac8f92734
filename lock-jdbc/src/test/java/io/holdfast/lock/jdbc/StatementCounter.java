package io.holdfast.lock.jdbc;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** Statements that the server was sent; its own questions about that are left out. */
final class StatementCounter implements AutoCloseable {
  private final Server server;
  private final Connection connection;
  private long asked;

  StatementCounter(Server server) throws SQLException {
    this.server = server;
    connection = server.connect();
    if (server == Server.POSTGRES) {
      try (Statement statement = connection.createStatement()) {
        statement.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements");
      }
    }
  }

  long count() throws SQLException {
    String question = server == Server.POSTGRES
        ? "SELECT 0, COALESCE(SUM(calls), 0) FROM pg_stat_statements"
            + " WHERE query NOT LIKE '%pg_stat_statements%'"
        : "SHOW GLOBAL STATUS LIKE 'Questions'";
    try (Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(question)) {
      result.next();
      long counted = result.getLong(2);
      return server == Server.POSTGRES ? counted : counted - asked++;
    }
  }

  @Override
  public void close() throws SQLException {
    connection.close();
  }
}
