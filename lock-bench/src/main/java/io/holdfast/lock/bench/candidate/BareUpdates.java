package io.holdfast.lock.bench.candidate;

import io.holdfast.lock.bench.BenchException;
import io.holdfast.lock.bench.server.Sql;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A bare program for SQL with two statements that commit by themselves: one takes the row if it is
 * free, the other frees it if it is ours.
 */
final class BareUpdates extends SqlMutexes {
  private static final String TAKE =
      "UPDATE bench_floor SET owner = ?, expires_at = CURRENT_TIMESTAMP + INTERVAL '30' SECOND"
          + " WHERE name = ? AND expires_at <= CURRENT_TIMESTAMP";
  private static final String GIVE =
      "UPDATE bench_floor SET expires_at = TIMESTAMP '2020-01-01 00:00:00'"
          + " WHERE name = ? AND owner = ?";
  private static final String INSERT =
      "INSERT INTO bench_floor VALUES (?, '', TIMESTAMP '2020-01-01 00:00:00')";

  private final Gate gate = new Gate();

  BareUpdates(String url) {
    super(url);
    try (Sql sql = new Sql(url)) {
      sql.create("CREATE TABLE IF NOT EXISTS bench_floor (name VARCHAR(200) NOT NULL PRIMARY KEY,"
          + " owner VARCHAR(40) NOT NULL, expires_at TIMESTAMP(6) NOT NULL)");
    }
  }

  @Override
  public Mutex mutex(String name) throws SQLException {
    ReentrantLock local = gate.of(name);
    String owner = UUID.randomUUID().toString();
    insertIfAbsent(statement(INSERT), name);
    PreparedStatement take = statement(TAKE);
    PreparedStatement give = statement(GIVE);
    return Mutex.of(
        () -> {
          local.lock();
          take.setString(1, owner);
          take.setString(2, name);
          if (take.executeUpdate() != 1) {
            throw new BenchException("the floor does not wait for another JVM", null);
          }
        },
        () -> {
          give.setString(1, name);
          give.setString(2, owner);
          give.executeUpdate();
          local.unlock();
        });
  }
}
