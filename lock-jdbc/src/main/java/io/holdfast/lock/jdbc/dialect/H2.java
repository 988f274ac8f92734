package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;

/** H2 2.2.220 and later, for tests and demonstrations. */
public final class H2 extends Dialect {
  private static final int LOCKED = 50200;
  private static final int DEADLOCK = 40001;
  private static final int CONCURRENT_UPDATE = 90131;

  private final Sql whyNotAcquired = new Sql(
      this, "SELECT CASE WHEN expires_at > {now} THEN 1 ELSE 2 END FROM {table} WHERE name = :key");

  H2(String table) {
    super(new H2Texts(table), new H2Facts(table), "H2", connection -> false);
  }

  /** Runs up to two statements, since there is no network in between. */
  @Override
  long acquire(Connection connection, Sql sql, Map<String, ?> values) throws SQLException {
    long number = super.acquire(connection, sql, values);
    return number == Protocol.NONE ? whyNotAcquired.first(connection, values) : number;
  }

  /** Runs two statements, as {@link #acquire} does. */
  @Override
  public long join(Connection connection, StoredClaim claim) throws SQLException {
    announce(connection, List.of(claim.key()));
    return super.join(connection, claim);
  }

  /** Waits for a moment. */
  @Override
  public void tryWaiting(Connection connection, StoredClaim claim) throws SQLException {
    join(connection, claim);
    keepAlive(connection, List.of(claim));
    super.tryWaiting(connection, claim);
  }

  @Override
  public void lockRow(Connection transaction, String key) throws SQLException {
    Map<String, ?> values = Map.of("key", key);
    if (sql(LockStatement.TOUCH_ROW).update(transaction, values) == 0) {
      try {
        sql(LockStatement.CREATE_ROW).update(transaction, values);
      } catch (SQLException e) {
        // A row that is there and is still not seen is newer than the transaction's snapshot.
        if (failure(e) != Failure.DUPLICATE
            || sql(LockStatement.TOUCH_ROW).update(transaction, values) == 0) {
          throw e;
        }
      }
    }
  }

  @Override
  public boolean tryLockRow(Connection transaction, String key) throws SQLException {
    return lockIfFree(transaction, key, LOCKED);
  }

  @Override
  public Failure failure(SQLException e) {
    return switch (e.getErrorCode()) {
      case LOCKED, DEADLOCK, CONCURRENT_UPDATE -> Failure.TRANSIENT;
      case 23505 -> Failure.DUPLICATE;
      case 42000, 42001 -> Failure.SYNTAX_ERROR;
      default -> Failure.hasState(e, "22", "23", "42") ? Failure.REFUSED : Failure.UNKNOWN;
    };
  }
}
