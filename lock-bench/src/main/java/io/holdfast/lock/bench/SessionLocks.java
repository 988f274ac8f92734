package io.holdfast.lock.bench;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

/** The database's own locks, which last as long as the connection that is kept for each. */
final class SessionLocks extends SqlMutexes {
  private final String take;
  private final String give;

  SessionLocks(String url, String take, String give) {
    super(url);
    this.take = take;
    this.give = give;
  }

  @Override
  public Mutex mutex(String name) throws SQLException {
    PreparedStatement taking = statement(take);
    PreparedStatement giving = statement(give);
    return new Mutex() {
      @Override
      public void lock() throws SQLException {
        run(taking, name);
      }

      @Override
      public void unlock() throws SQLException {
        run(giving, name);
      }
    };
  }

  private static void run(PreparedStatement statement, String name) throws SQLException {
    statement.setString(1, name);
    try (ResultSet rows = statement.executeQuery()) {
      rows.next();
    }
  }
}
