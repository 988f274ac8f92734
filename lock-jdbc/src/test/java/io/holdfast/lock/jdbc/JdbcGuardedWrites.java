package io.holdfast.lock.jdbc;

import io.holdfast.lock.Lease;
import io.holdfast.lock.tck.GuardedWrites;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;

/** Logs in a table of the caller's, appended to in a guarded transaction. */
final class JdbcGuardedWrites implements GuardedWrites {
  private final DataSource dataSource;

  JdbcGuardedWrites(DataSource dataSource) {
    this.dataSource = dataSource;
  }

  /** Makes the table of all logs. */
  static void createTable(Connection connection, String identityColumn) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("CREATE TABLE kit_log ("
          + identityColumn
          + ", log_name VARCHAR(200), entry VARCHAR(200))");
    }
  }

  @Override
  public void create(String log) {
    // A log is what the table has of its name.
  }

  @Override
  public void append(String log, Lease lease, String entry, Step beforeEffect) throws Exception {
    try (JdbcGuard guard = JdbcGuard.of(lease);
        Connection transaction = dataSource.getConnection()) {
      transaction.setAutoCommit(false);
      boolean committed = false;
      try (PreparedStatement insert =
          transaction.prepareStatement("INSERT INTO kit_log (log_name, entry) VALUES (?, ?)")) {
        insert.setString(1, log);
        insert.setString(2, entry);
        insert.executeUpdate();
        guard.verify(transaction);
        beforeEffect.run();
        transaction.commit();
        committed = true;
      } finally {
        if (!committed) {
          transaction.rollback();
        }
      }
    }
  }

  @Override
  public List<String> read(String log) throws SQLException {
    try (Connection connection = dataSource.getConnection();
        PreparedStatement select = connection.prepareStatement(
            "SELECT entry FROM kit_log WHERE log_name = ? ORDER BY id")) {
      select.setString(1, log);
      List<String> entries = new ArrayList<>();
      try (ResultSet result = select.executeQuery()) {
        while (result.next()) {
          entries.add(result.getString(1));
        }
      }
      return entries;
    }
  }
}
