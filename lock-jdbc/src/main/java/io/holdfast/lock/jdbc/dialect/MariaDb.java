package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import org.mariadb.jdbc.util.constants.ServerStatus;

/**
 * MariaDB 10.6 and later, through its own driver or MySQL's.
 *
 * <p>Differs from MySQL where MariaDB has something better: a limit per statement on the wait for
 * row locks. With a limit of zero, a statement fails at once if a row is locked; that costs half as
 * much as a query that skips locked rows.
 */
final class MariaDb extends MySql {
  private static final Driver DRIVER = Driver.of(
      "org.mariadb.jdbc.Connection",
      connection -> connection.isWrapperFor(org.mariadb.jdbc.Connection.class)
          && (connection.unwrap(org.mariadb.jdbc.Connection.class).getContext().getServerStatus()
                  & ServerStatus.IN_TRANSACTION)
              != 0);

  private static final String WITHOUT_WAITING = "SET STATEMENT innodb_lock_wait_timeout = 0 FOR ";

  private final Sql tryLockRow;

  MariaDb(String table) {
    super(table);
    tryLockRow = sql(WITHOUT_WAITING + lockRowTemplate());
  }

  @Override
  public String database() {
    return "MariaDB";
  }

  @Override
  public String script() {
    return "mariadb.sql";
  }

  @Override
  public boolean isInTransaction(Connection connection) throws SQLException {
    return DRIVER.isInTransaction(connection) || super.isInTransaction(connection);
  }

  @Override
  String updateUnlessLocked(String condition, String set) {
    return WITHOUT_WAITING + "UPDATE {table} l SET " + set + " WHERE name = :key AND " + condition;
  }

  @Override
  String handOverTemplate(String condition) {
    return WITHOUT_WAITING + super.handOverTemplate(condition);
  }

  @Override
  String lockRowAndWaiter() {
    return "FOR UPDATE";
  }

  @Override
  public long acquire(Connection connection, StoredClaim stored) throws SQLException {
    return unlessLocked(NONE, () -> super.acquire(connection, stored));
  }

  @Override
  public long take(Connection connection, StoredClaim stored, long place) throws SQLException {
    return unlessLocked(NONE, () -> super.take(connection, stored, place));
  }

  @Override
  public long accept(Connection connection, StoredClaim stored) throws SQLException {
    return unlessLocked(NONE, () -> super.accept(connection, stored));
  }

  @Override
  public long extend(Connection connection, String key, String owner, long number, long ttlMicros)
      throws SQLException {
    return unlessLocked(NONE, () -> super.extend(connection, key, owner, number, ttlMicros));
  }

  @Override
  boolean isDone(PreparedStatement statement) throws SQLException {
    return unlessLocked(false, () -> super.isDone(statement));
  }

  /** A statement that does not wait for locked rows. */
  private interface Question<T> {
    T ask() throws SQLException;
  }

  private static <T> T unlessLocked(T ifLocked, Question<T> question) throws SQLException {
    try {
      return question.ask();
    } catch (SQLException e) {
      if (e.getErrorCode() == LOCK_WAIT_TIMEOUT) {
        return ifLocked;
      }
      throw e;
    }
  }

  @Override
  public boolean tryLockRow(Connection transaction, String key) throws SQLException {
    try {
      update(transaction, tryLockRow, key);
      return true;
    } catch (SQLException e) {
      if (e.getErrorCode() == LOCK_WAIT_TIMEOUT && !rollsBackOnTimeout(transaction)) {
        return false;
      }
      throw e;
    }
  }
}
