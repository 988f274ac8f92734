package io.holdfast.lock.bench;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

/** Two statements, and the server lets the others wait: a row lock, held by an open transaction. */
final class BareRowLocks extends SqlMutexes {
  BareRowLocks(String url) {
    super(url);
    try (Sql sql = new Sql(url)) {
      sql.create("CREATE TABLE IF NOT EXISTS bench_row (name VARCHAR(200) NOT NULL PRIMARY KEY)");
    }
  }

  @Override
  public Mutex mutex(String name) throws SQLException {
    Connection connection = connection();
    connection.setAutoCommit(true);
    try (PreparedStatement insert =
        connection.prepareStatement("INSERT INTO bench_row VALUES (?)")) {
      insert.setString(1, name);
      insert.executeUpdate();
    } catch (SQLException e) {
      throwUnlessDuplicate(e);
    }
    connection.setAutoCommit(false);
    PreparedStatement take =
        connection.prepareStatement("SELECT name FROM bench_row WHERE name = ? FOR UPDATE");
    take.setString(1, name);
    return new Mutex() {
      @Override
      public void lock() throws SQLException {
        try (ResultSet rows = take.executeQuery()) {
          rows.next();
        }
      }

      @Override
      public void unlock() throws SQLException {
        connection.commit();
      }
    };
  }
}
