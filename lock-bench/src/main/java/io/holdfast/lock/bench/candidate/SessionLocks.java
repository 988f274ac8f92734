package io.holdfast.lock.bench.candidate;

import java.sql.PreparedStatement;
import java.sql.SQLException;

/** The database's own locks, each of which lasts as long as the connection that is kept for it. */
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
    return Mutex.of(() -> query(taking, name), () -> query(giving, name));
  }
}
