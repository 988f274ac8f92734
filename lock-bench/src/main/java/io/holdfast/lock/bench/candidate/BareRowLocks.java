package io.holdfast.lock.bench.candidate;

import io.holdfast.lock.bench.server.Sql;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A bare program for SQL with two statements: a row lock, held by an open transaction. The server
 * makes the others wait. A reader shares the row.
 */
final class BareRowLocks extends SqlClient {
  private final AtomicInteger permitHandles = new AtomicInteger();

  BareRowLocks(String url) {
    super(url);
    try (Sql sql = new Sql(url)) {
      sql.create("CREATE TABLE IF NOT EXISTS bench_row (name VARCHAR(200) NOT NULL PRIMARY KEY)");
    }
  }

  @Override
  public Handle mutex(String name) throws SQLException {
    return row(name, "UPDATE");
  }

  /** Returns a handle on one of as many rows as there are permits, always the same one. */
  @Override
  public Handle permit(String name, int permits) throws SQLException {
    return mutex(name + "-" + permitHandles.getAndIncrement() % permits);
  }

  @Override
  public Handle read(String name) throws SQLException {
    return row(name, "SHARE");
  }

  @Override
  public Handle write(String name) throws SQLException {
    return mutex(name);
  }

  private Handle row(String name, String strength) throws SQLException {
    Connection connection = connection();
    connection.setAutoCommit(true);
    if (!exists(name)) {
      insertIfAbsent(statement("INSERT INTO bench_row VALUES (?)"), name);
    }
    connection.setAutoCommit(false);
    PreparedStatement take = statement("SELECT name FROM bench_row WHERE name = ? FOR " + strength);
    return Handle.of(() -> query(take, name), connection::commit);
  }

  /**
   * Looks for the row before an insert: in MySQL an insert would wait for a transaction that has
   * the row locked.
   */
  private boolean exists(String name) throws SQLException {
    return query(statement("SELECT name FROM bench_row WHERE name = ?"), name);
  }
}
