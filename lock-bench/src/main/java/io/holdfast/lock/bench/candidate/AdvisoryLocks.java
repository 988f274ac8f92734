package io.holdfast.lock.bench.candidate;

import java.sql.PreparedStatement;
import java.sql.SQLException;

/**
 * PostgreSQL's advisory locks, each of which lasts as long as the connection that is kept for it.
 */
final class AdvisoryLocks extends SqlClient {
  AdvisoryLocks(String url) {
    super(url);
  }

  @Override
  public Handle mutex(String name) throws SQLException {
    return handle(name, "");
  }

  @Override
  public Handle read(String name) throws SQLException {
    return handle(name, "_shared");
  }

  @Override
  public Handle write(String name) throws SQLException {
    return mutex(name);
  }

  private Handle handle(String name, String suffix) throws SQLException {
    PreparedStatement take = statement(call("lock" + suffix));
    PreparedStatement give = statement(call("unlock" + suffix));
    return Handle.of(() -> query(take, name), () -> query(give, name));
  }

  private static String call(String function) {
    return "SELECT pg_advisory_" + function + "(hashtextextended(?, 0))";
  }
}
