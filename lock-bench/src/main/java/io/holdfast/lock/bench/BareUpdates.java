package io.holdfast.lock.bench;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;

/** Two statements that commit by themselves: take the row if it is free; free it if it is ours. */
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
    insertIfAbsent(name);
    PreparedStatement take = statement(TAKE);
    PreparedStatement give = statement(GIVE);
    return new Mutex() {
      @Override
      public void lock() throws SQLException, BenchException {
        local.lock();
        take.setString(1, owner);
        take.setString(2, name);
        if (take.executeUpdate() != 1) {
          throw new BenchException("the floor does not wait for another JVM", null);
        }
      }

      @Override
      public void unlock() throws SQLException {
        give.setString(1, name);
        give.setString(2, owner);
        give.executeUpdate();
        local.unlock();
      }
    };
  }

  private void insertIfAbsent(String name) throws SQLException {
    try {
      PreparedStatement insert = statement(INSERT);
      insert.setString(1, name);
      insert.executeUpdate();
    } catch (SQLException e) {
      throwUnlessDuplicate(e);
    }
  }
}
