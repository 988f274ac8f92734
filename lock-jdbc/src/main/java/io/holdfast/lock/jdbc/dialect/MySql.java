package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * MySQL 8.0 and later, through Connector/J.
 *
 * <p>Numbers come back in the answer to the update itself: {@code LAST_INSERT_ID(expression)} makes
 * the server report the expression as if it were a generated key. The function's value stays in the
 * session, as it does after any insert; nothing else does.
 */
public sealed class MySql extends Dialect permits MariaDb {
  /** MariaDB's snapshot isolation; arrives as HY000. */
  private static final int RECORD_CHANGED = 1020;

  private static final int LOCK_WAIT_TIMEOUT = 1205;
  private static final int DEADLOCK = 1213;
  private static final int LOCKED_AND_NO_WAIT = 3572;

  private static final Set<Integer> TRANSIENT =
      Set.of(RECORD_CHANGED, LOCK_WAIT_TIMEOUT, DEADLOCK, LOCKED_AND_NO_WAIT);

  /** Duplicate key. */
  private static final int DUPLICATE = 1062;

  /** The server is in read-only mode. */
  private static final Set<Integer> READ_ONLY = Set.of(1290, 1792, 1836);

  /** Reports the time that is left. */
  static final String EXTEND = """
      UPDATE {table}
      SET expires_at = {now} + LAST_INSERT_ID(GREATEST(expires_at - {now}, ?))
      """;

  /**
   * How long ago the statement began, which is what {@link #now} tells: it may have waited for the
   * table meanwhile (a DDL, a backup), and must not revive a lease that ended in that time.
   */
  static final String LATE = "GREATEST(0, TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)))";

  private final String acquire;
  private final String insert;
  private final String release;
  private final String extend;
  private final String withdraw;
  private final String forceRelease;
  private final String lockRow;
  private final String selectRowNoWait;

  MySql(String table) {
    super(table);
    acquire = sql(acquireTemplate());
    insert = sql("""
            INSERT INTO {table}
              (name, owner, number, changed_at, expires_at, wanted_until, guarded, holder)
            VALUES (?, ?, LAST_INSERT_ID({now}), {now}, {now} + ?, 0, 0, ?)
            """);
    // The assignment to wanted_until leaves it as it is and reports it, plus one: zero is no key.
    release = sql(bounded("""
                UPDATE {table}
                SET owner = '', changed_at = IF(? = 0, {now}, changed_at),
                  expires_at = IF(? = 0, 0, {now} + ?),
                  wanted_until = wanted_until
                    + 0 * LAST_INSERT_ID(1 + GREATEST(wanted_until - {now}, 0))
                WHERE name = ? AND owner = ? AND number = ?
                """));
    extend = sql(extendTemplate());
    withdraw = sql(bounded("""
                UPDATE {table} SET owner = '', changed_at = {now}, expires_at = 0
                WHERE name = ? AND owner = ?
                """));
    forceRelease = sql(bounded("""
                UPDATE {table} SET owner = '', changed_at = {now}, expires_at = 0
                WHERE name = ? AND number = ? AND expires_at > {now}
                """));
    lockRow = sql(lockRowTemplate());
    selectRowNoWait = sql("SELECT 1 FROM {table} WHERE name = ? FOR UPDATE NOWAIT");
  }

  /** The inner query locks the row if it is free and nobody has it locked; else nothing matches. */
  String acquireTemplate() {
    return """
        UPDATE {table}
        SET number = LAST_INSERT_ID(GREATEST(number + 1, {now})), owner = ?, changed_at = {now},
          expires_at = {now} + ?, wanted_until = 0, holder = ?
        WHERE name = (SELECT name FROM (
          SELECT name FROM {table} WHERE name = ? AND expires_at <= {now} FOR UPDATE SKIP LOCKED
        ) free)
        """;
  }

  /** As to acquire; {@code {late}} is zero unless the statement had to wait since its now. */
  String extendTemplate() {
    return EXTEND + """
        WHERE name = (SELECT name FROM (
          SELECT name FROM {table}
          WHERE name = ? AND owner = ? AND number = ? AND expires_at > {now} + {late}
          FOR UPDATE SKIP LOCKED
        ) mine)
        """.replace("{late}", LATE);
  }

  /** Locks the row that exists, and else inserts it: no gap lock, which two could hold at once. */
  String lockRowTemplate() {
    return """
        INSERT INTO {table}
          (name, owner, number, changed_at, expires_at, wanted_until, guarded, holder)
        VALUES (?, '', 0, {now}, 0, 0, 0, '')
        ON DUPLICATE KEY UPDATE guarded = {table}.guarded + 1
        """;
  }

  /** An update of one row, with a limit to its wait for a row lock if the database has one. */
  String bounded(String update) {
    return update;
  }

  @Override
  public String database() {
    return "MySQL";
  }

  @Override
  public String script() {
    return "mysql.sql";
  }

  @Override
  public @Nullable String flaw(Connection connection) throws SQLException {
    int dot = table().indexOf('.');
    String schema = dot < 0 ? connection.getCatalog() : table().substring(0, dot);
    String name = table().substring(dot + 1);
    try (PreparedStatement statement = connection.prepareStatement("""
            SELECT t.engine,
              (SELECT COUNT(*) FROM (
                SELECT index_name FROM information_schema.statistics
                WHERE table_schema = ? AND table_name = ? AND non_unique = 0
                GROUP BY index_name
                HAVING COUNT(*) = 1 AND MAX(LOWER(column_name)) = 'name' AND MAX(sub_part) IS NULL) u)
            FROM information_schema.tables t WHERE t.table_schema = ? AND t.table_name = ?
            """)) {
      statement.setString(1, schema);
      statement.setString(2, name);
      statement.setString(3, schema);
      statement.setString(4, name);
      try (ResultSet result = statement.executeQuery()) {
        if (!result.next()) {
          return "information_schema does not show it (is it a view?)";
        }
        if (!"innodb".equals(String.valueOf(result.getString(1)).toLowerCase(Locale.ROOT))) {
          return "its engine is " + result.getString(1) + " and must be InnoDB";
        }
        return result.getInt(2) > 0 ? null : "it has no unique key on the column name";
      }
    }
  }

  @Override
  public boolean isExactNameType(String typeName) {
    return typeName.equalsIgnoreCase("VARBINARY");
  }

  @Override
  public long acquire(Connection connection, Attempt attempt) throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(acquire, Statement.RETURN_GENERATED_KEYS)) {
      statement.setString(1, attempt.owner());
      statement.setLong(2, attempt.ttlMicros());
      statement.setString(3, attempt.holder());
      setKey(statement, 4, attempt.key());
      return statement.executeUpdate() == 0 ? NONE : reported(statement);
    }
  }

  @Override
  public long insert(Connection connection, Attempt attempt) throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(insert, Statement.RETURN_GENERATED_KEYS)) {
      setKey(statement, 1, attempt.key());
      statement.setString(2, attempt.owner());
      statement.setLong(3, attempt.ttlMicros());
      statement.setString(4, attempt.holder());
      statement.executeUpdate();
      return reported(statement);
    } catch (SQLException e) {
      if (e.getErrorCode() == DUPLICATE) {
        return NONE;
      }
      throw e;
    }
  }

  @Override
  public long release(Connection connection, String key, String owner, long number, long holdMicros)
      throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(release, Statement.RETURN_GENERATED_KEYS)) {
      statement.setLong(1, holdMicros);
      statement.setLong(2, holdMicros);
      statement.setLong(3, holdMicros);
      setKey(statement, 4, key);
      statement.setString(5, owner);
      statement.setLong(6, number);
      return statement.executeUpdate() == 0 ? NOT_OWNER : reported(statement) - 1;
    }
  }

  @Override
  public long extend(Connection connection, String key, String owner, long number, long ttlMicros)
      throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(extend, Statement.RETURN_GENERATED_KEYS)) {
      statement.setLong(1, ttlMicros);
      setKey(statement, 2, key);
      statement.setString(3, owner);
      statement.setLong(4, number);
      return statement.executeUpdate() == 0 ? NONE : reported(statement);
    }
  }

  @Override
  public void withdraw(Connection connection, String key, String owner) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(withdraw)) {
      setKey(statement, 1, key);
      statement.setString(2, owner);
      statement.executeUpdate();
    }
  }

  @Override
  public boolean forceRelease(Connection connection, String key, long number) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(forceRelease)) {
      setKey(statement, 1, key);
      statement.setLong(2, number);
      return statement.executeUpdate() > 0;
    }
  }

  @Override
  public void lockRow(Connection transaction, String key) throws SQLException {
    lockRow(transaction, lockRow, key);
  }

  /** A plain read would be simpler, and would make a snapshot that is older than the lock. */
  @Override
  public boolean tryLockRow(Connection transaction, String key) throws SQLException {
    try (PreparedStatement statement = transaction.prepareStatement(selectRowNoWait)) {
      setKey(statement, 1, key);
      statement.executeQuery().close();
    } catch (SQLException e) {
      if (e.getErrorCode() == LOCKED_AND_NO_WAIT) {
        return false; // Undoes nothing but the statement.
      }
      throw e;
    }
    lockRow(transaction, key);
    return true;
  }

  final void lockRow(Connection transaction, String sql, String key) throws SQLException {
    try (PreparedStatement statement = transaction.prepareStatement(sql)) {
      setKey(statement, 1, key);
      statement.executeUpdate();
    }
  }

  @Override
  public boolean isTransient(SQLException e) {
    return TRANSIENT.contains(e.getErrorCode()) || "40001".equals(e.getSQLState());
  }

  @Override
  public boolean isRefused(SQLException e) {
    return isTransient(e)
        || READ_ONLY.contains(e.getErrorCode())
        || (e.getErrorCode() > 0 && hasClass(e, "22", "23", "25", "28", "42"));
  }

  @Override
  public boolean isReadOnly(SQLException e) {
    return READ_ONLY.contains(e.getErrorCode());
  }

  /** Here 40001 is a deadlock, or a lock wait that timed out: neither says who has the lock. */
  @Override
  public boolean isOvertaken(SQLException e) {
    return e.getErrorCode() == RECORD_CHANGED;
  }

  @Override
  String now() {
    return "TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))";
  }

  /** Without NO_MERGE the derived table is merged into the update, which then waits. */
  @Override
  String updateUnlocked(String where, String set) {
    return "UPDATE /*+ NO_MERGE(mine) */"
        + " (SELECT name AS mine_name FROM {table} FORCE INDEX (PRIMARY) WHERE "
        + where
        + " FOR UPDATE SKIP LOCKED) mine STRAIGHT_JOIN {table} ON name = mine_name SET "
        + set;
  }

  @Override
  String deleteUnlocked(String where) {
    return "DELETE /*+ NO_MERGE(mine) */ {table}"
        + " FROM (SELECT name AS mine_name FROM {table} FORCE INDEX (PRIMARY) WHERE "
        + where
        + " FOR UPDATE SKIP LOCKED) mine STRAIGHT_JOIN {table} ON name = mine_name";
  }

  private static long reported(PreparedStatement statement) throws SQLException {
    try (ResultSet keys = statement.getGeneratedKeys()) {
      if (!keys.next()) {
        throw new SQLException("The driver did not report the value of LAST_INSERT_ID");
      }
      return keys.getLong(1);
    }
  }
}
