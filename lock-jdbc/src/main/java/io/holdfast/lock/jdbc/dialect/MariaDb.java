package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.mariadb.jdbc.util.constants.ServerStatus;

/**
 * MariaDB 10.6 and later, through its own driver or MySQL's.
 *
 * <p>Differs from MySQL where MariaDB has something better: a limit per statement on the wait for
 * row locks. With a limit of zero, a statement fails at once if a row is locked; that costs half as
 * much as a query that skips locked rows.
 */
final class MariaDb extends MySql {
  private static final Driver OWN_DRIVER = Driver.of(
      "org.mariadb.jdbc.Connection",
      connection -> connection.isWrapperFor(org.mariadb.jdbc.Connection.class)
          && (connection.unwrap(org.mariadb.jdbc.Connection.class).getContext().getServerStatus()
                  & ServerStatus.IN_TRANSACTION)
              != 0);

  private final Sql tryLockRow =
      new Sql(this, MariaDbTexts.WITHOUT_WAITING + LockStatement.CREATE_ROW.text(texts));

  MariaDb(String table) {
    super(
        new MariaDbTexts(table),
        new MySqlFacts(table, "information_schema.session_variables"),
        "MariaDB",
        connection -> OWN_DRIVER.isInTransaction(connection) || DRIVER.isInTransaction(connection));
  }

  @Override
  boolean limitsWaitsForRows() {
    return true;
  }

  @Override
  long acquire(Connection connection, Sql sql, Map<String, ?> values) throws SQLException {
    long sentNanos = System.nanoTime();
    try {
      return super.runForReport(connection, sql, values);
    } catch (SQLException e) {
      refuseUnlessLocked(sql, e, sentNanos);
      return Protocol.UNSURE;
    }
  }

  @Override
  long runForReport(Connection connection, Sql sql, Map<String, ?> values) throws SQLException {
    long sentNanos = System.nanoTime();
    try {
      return super.runForReport(connection, sql, values);
    } catch (SQLException e) {
      refuseUnlessLocked(sql, e, sentNanos);
      return Protocol.NONE;
    }
  }

  @Override
  boolean end(Connection connection, Sql sql, Map<String, ?> values) throws SQLException {
    long sentNanos = System.nanoTime();
    try {
      return super.end(connection, sql, values);
    } catch (SQLException e) {
      refuseUnlessLocked(sql, e, sentNanos);
      return false;
    }
  }

  /**
   * Throws a failure that is not that of a statement that did not wait for a locked row. One that
   * waited for the table and reached the limit fails with the same error, and tells nothing about
   * the lock; only the time tells the two apart.
   */
  private void refuseUnlessLocked(Sql sql, SQLException failure, long sentNanos)
      throws SQLException {
    long limitNanos = TimeUnit.MILLISECONDS.toNanos(waitMillis());
    boolean waited = limitNanos > 0 && System.nanoTime() - sentNanos >= limitNanos / 2;
    if (failure.getErrorCode() != LOCK_WAIT_TIMEOUT
        || !sql.beginsWith(MariaDbTexts.WITHOUT_WAITING)
        || waited) {
      throw failure;
    }
  }

  @Override
  public boolean tryLockRow(Connection transaction, String key) throws SQLException {
    try {
      tryLockRow.update(transaction, Map.of("key", key));
      return true;
    } catch (SQLException e) {
      if (e.getErrorCode() == LOCK_WAIT_TIMEOUT && !rollsBackOnTimeout(transaction)) {
        return false;
      }
      throw e;
    }
  }
}
