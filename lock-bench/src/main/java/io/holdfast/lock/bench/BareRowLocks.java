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
    if (!exists(name)) {
      insert(name);
    }
    connection.setAutoCommit(false);
    PreparedStatement take = statement("SELECT name FROM bench_row WHERE name = ? FOR UPDATE");
    return new Mutex() {
      @Override
      public void lock() throws SQLException {
        take.setString(1, name);
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

  /** Looked up first: in MySQL an insert waits for whoever has the row locked. */
  private boolean exists(String name) throws SQLException {
    PreparedStatement look = statement("SELECT name FROM bench_row WHERE name = ?");
    look.setString(1, name);
    try (ResultSet rows = look.executeQuery()) {
      return rows.next();
    }
  }

  private void insert(String name) throws SQLException {
    PreparedStatement insert = statement("INSERT INTO bench_row VALUES (?)");
    insert.setString(1, name);
    try {
      insert.executeUpdate();
    } catch (SQLException e) {
      throwUnlessDuplicate(e);
    }
  }
}
