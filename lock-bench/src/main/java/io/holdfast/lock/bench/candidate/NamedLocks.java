package io.holdfast.lock.bench.candidate;

import java.sql.PreparedStatement;
import java.sql.SQLException;

/** MySQL's named locks, each of which lasts as long as the connection that is kept for it. */
final class NamedLocks extends SqlClient {
  NamedLocks(String url) {
    super(url);
  }

  @Override
  public Handle mutex(String name) throws SQLException {
    PreparedStatement take = statement("SELECT GET_LOCK(?, -1)");
    PreparedStatement give = statement("SELECT RELEASE_LOCK(?)");
    return Handle.of(() -> query(take, name), () -> query(give, name));
  }
}
