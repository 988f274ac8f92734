package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.SQLException;

/**
 * MariaDB 10.6 and later, through its own driver or MySQL's.
 *
 * <p>Differs from MySQL where MariaDB has something better: a limit per statement on the wait for
 * row locks.
 */
final class MariaDb extends MySql {
  private final Sql tryLockRow;

  MariaDb(String table) {
    super(table);
    tryLockRow = sql("SET STATEMENT innodb_lock_wait_timeout = 0 FOR " + lockRowTemplate());
  }

  @Override
  public String database() {
    return "MariaDB";
  }

  @Override
  public String script() {
    return "mariadb.sql";
  }

  /**
   * Sets the wait for row locks to zero, so that the server does not wait; on MariaDB that costs
   * half as much as a query that skips locked rows.
   */
  @Override
  String takeTemplate() {
    return """
        SET STATEMENT innodb_lock_wait_timeout = 0 FOR
        UPDATE {table} l
        SET number = LAST_INSERT_ID(GREATEST(number + 1, {now})), owner = :owner,
          changed_at = {now}, expires_at = {now} + :ttl, holder = :holder, served = {served}
        WHERE name = :key AND expires_at <= {now} AND {condition}
        """;
  }

  @Override
  String extendTemplate() {
    return """
        SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE {table}
        SET expires_at = {now} + LAST_INSERT_ID(GREATEST(expires_at - {now}, :ttl))
        WHERE name = :key AND owner = :owner AND number = :number AND expires_at > {now} + {late}
        """;
  }

  @Override
  String bounded(String update) {
    return "SET STATEMENT innodb_lock_wait_timeout = 1 FOR " + update;
  }

  @Override
  public long acquire(Connection connection, Attempt attempt) throws SQLException {
    return unlessLocked(() -> super.acquire(connection, attempt));
  }

  @Override
  public long take(Connection connection, Attempt attempt, long place) throws SQLException {
    return unlessLocked(() -> super.take(connection, attempt, place));
  }

  @Override
  public long extend(Connection connection, String key, String owner, long number, long ttlMicros)
      throws SQLException {
    return unlessLocked(() -> super.extend(connection, key, owner, number, ttlMicros));
  }

  /** A statement that tells a number. */
  private interface Question {
    long ask() throws SQLException;
  }

  private static long unlessLocked(Question question) throws SQLException {
    try {
      return question.ask();
    } catch (SQLException e) {
      if (e.getErrorCode() == LOCK_WAIT_TIMEOUT) {
        return NONE;
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
