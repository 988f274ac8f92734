package io.holdfast.lock.bench.candidate;

import io.holdfast.lock.bench.server.Sql;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;

/**
 * A bare program for SQL with two statements: a row lock, held by an open transaction. The server
 * makes the others wait.
 */
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
      insertIfAbsent(statement("INSERT INTO bench_row VALUES (?)"), name);
    }
    connection.setAutoCommit(false);
    PreparedStatement take = statement("SELECT name FROM bench_row WHERE name = ? FOR UPDATE");
    return Mutex.of(() -> query(take, name), connection::commit);
  }

  /**
   * Looks for the row before an insert: in MySQL an insert would wait for a transaction that has
   * the row locked.
   */
  private boolean exists(String name) throws SQLException {
    return query(statement("SELECT name FROM bench_row WHERE name = ?"), name);
  }
}
