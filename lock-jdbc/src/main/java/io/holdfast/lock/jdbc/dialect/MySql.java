package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
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

  /** Group replication: the commit of another node came first. */
  private static final int ROLLED_BACK_BY_PLUGIN = 3101;

  private static final Set<Integer> TRANSIENT = Set.of(
      RECORD_CHANGED, LOCK_WAIT_TIMEOUT, DEADLOCK, ROLLED_BACK_BY_PLUGIN, LOCKED_AND_NO_WAIT);

  /** Duplicate key. */
  private static final int DUPLICATE = 1062;

  /** The server is in read-only mode. */
  private static final Set<Integer> READ_ONLY = Set.of(1290, 1792, 1836);

  /** Reports the time that is left. */
  static final String EXTEND = """
      UPDATE {table}
      SET expires_at = {now} + LAST_INSERT_ID(GREATEST(expires_at - {now}, ?))
      """;

  private static final String WAIT_LITTLE =
      "SET @holdfast_wait = @@innodb_lock_wait_timeout," + " SESSION innodb_lock_wait_timeout = 1";

  private static final String WAIT_AS_BEFORE =
      "SET SESSION innodb_lock_wait_timeout = @holdfast_wait";

  /** Of all tables: whoever locks in a transaction keeps no state between its calls. */
  private static final KnownNames KNOWN = new KnownNames();

  private final String acquire;
  private final String insert;
  private final String release;
  private final String handOver;
  private final String join;
  private final String accept;
  private final String take;
  private final String extend;
  private final String withdraw;
  private final String forceRelease;
  private final String lockRow;
  private final String selectRowNoWait;

  MySql(String table) {
    super(table);
    acquire = sql(takeTemplate("wanted_until <= {now}", "served"));
    take = sql(takeTemplate(
        "served < ? AND NOT EXISTS (SELECT 1 " + LINE + " AND a.place < ?)",
        "GREATEST(served, ?)"));
    insert = sql("""
            INSERT INTO {table}
              (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder)
            VALUES (?, ?, LAST_INSERT_ID({now}), {now}, {now} + ?, 0, 0, 0, ?)
            """);
    release = sql(bounded("""
                UPDATE {table}
                SET owner = '', changed_at = IF(? = 0, {now}, changed_at),
                  expires_at = IF(? = 0, 0, {now} + ?)
                WHERE name = ? AND owner = ? AND number = ? AND wanted_until <= {now}
                """));
    handOver = sql(bounded(handOverTemplate("owner = ? AND number = ?")));
    withdraw = sql(bounded(handOverTemplate("owner = ?")));
    forceRelease = sql(bounded(handOverTemplate("number = ? AND expires_at > {now}")));
    join = sql("""
        INSERT INTO {waiters} (name, owner, alive_until, holder)
        VALUES (?, ?, {now} + {alive}, ?)
        """.replace("{alive}", String.valueOf(ALIVE_MICROS)));
    accept = sql(bounded("""
                UPDATE {table}
                SET number = LAST_INSERT_ID(number), expires_at = {now} + ?, holder = ?
                WHERE name = ? AND owner = ? AND expires_at > {now}
                """));
    extend = sql(extendTemplate());
    lockRow = sql(lockRowTemplate());
    selectRowNoWait = sql("SELECT 1 FROM {table} WHERE name = ? FOR UPDATE NOWAIT");
  }

  /**
   * Takes the lock if it is free and the condition holds. The inner query locks the row if nobody
   * has it locked; else nothing matches. The parameters are the attempt's owner, TTL and holder,
   * then those of {@code served}, the key, and those of the condition.
   */
  String takeTemplate(String condition, String served) {
    return """
        UPDATE {table}
        SET number = LAST_INSERT_ID(GREATEST(number + 1, {now})), owner = ?, changed_at = {now},
          expires_at = {now} + ?, holder = ?, served = {served}
        WHERE name = (SELECT name FROM (
          SELECT name FROM {table} l WHERE name = ? AND expires_at <= {now} AND {condition}
          FOR UPDATE SKIP LOCKED
        ) free)
        """.replace("{condition}", condition).replace("{served}", served);
  }

  /**
   * Hands a row for which the condition holds to the first in its line, or frees it. The inner
   * query locks the lock's row first, then its waiters'; so one who leaves either is not found, or
   * finds that it has the lock. No assignment reads what another one writes, since their order is
   * not defined.
   */
  private static String handOverTemplate(String condition) {
    return """
        UPDATE {table} LEFT JOIN (
          SELECT a.place AS next_place, a.owner AS next_owner, a.holder AS next_holder
          FROM {table} b STRAIGHT_JOIN {waiters} a ON a.name = b.name AND a.place > b.served
          WHERE b.name = ? AND ? = 0 AND a.alive_until > {now}
          ORDER BY a.place LIMIT 1 FOR UPDATE
        ) next ON TRUE
        SET {table}.owner = COALESCE(next_owner, ''),
          {table}.holder = COALESCE(next_holder, {table}.holder),
          served = COALESCE(next_place, served),
          number = IF(next_place IS NULL, number, GREATEST(number + 1, {now})),
          changed_at = IF(? = 0, {now}, changed_at),
          expires_at = IF(next_place IS NULL, IF(? = 0, 0, {now} + ?), {now} + {handed}),
          wanted_until = IF(? = 0 AND next_place IS NULL, 0, wanted_until)
        WHERE {table}.name = ? AND {condition}
        """.replace("{handed}", String.valueOf(HANDED_OVER_MICROS))
        .replace("{condition}", condition.replace("owner", "{table}.owner"));
  }

  /** As to take. */
  String extendTemplate() {
    return EXTEND + """
        WHERE name = (SELECT name FROM (
          SELECT name FROM {table}
          WHERE name = ? AND owner = ? AND number = ? AND expires_at > {now} + {late}
          FOR UPDATE SKIP LOCKED
        ) mine)
        """;
  }

  /** Locks the row that exists, and else inserts it: no gap lock, which two could hold at once. */
  String lockRowTemplate() {
    return """
        INSERT INTO {table}
          (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder)
        VALUES (?, '', 0, {now}, 0, 0, 0, 0, '')
        ON DUPLICATE KEY UPDATE guarded = {table}.guarded + 1, changed_at = {now}
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

  /** Not every server has each of these variables. */
  @Override
  public void checkServer(Connection connection) throws SQLException {
    Map<String, String> variables = new HashMap<>();
    try (Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery("SHOW VARIABLES WHERE Variable_name IN"
            + " ('version', 'version_comment', 'log_bin', 'binlog_format')")) {
      while (result.next()) {
        variables.put(result.getString(1), String.valueOf(result.getString(2)));
      }
    }
    LookAlikes.refuse(variables.getOrDefault("version", ""));
    LookAlikes.refuse(variables.getOrDefault("version_comment", ""));
    if ("ON".equalsIgnoreCase(variables.get("log_bin"))
        && "STATEMENT".equalsIgnoreCase(variables.get("binlog_format"))) {
      throw new IllegalStateException("The server has binlog_format=STATEMENT. Locks ask the clock"
          + " and pass over locked rows, which a replica would do with another outcome, and which"
          + " fails at READ COMMITTED: SET GLOBAL binlog_format = 'ROW' (the default; MIXED will"
          + " do, too), in the server's configuration as well, and open new connections");
    }
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
  public long take(Connection connection, Attempt attempt, long place) throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(take, Statement.RETURN_GENERATED_KEYS)) {
      statement.setString(1, attempt.owner());
      statement.setLong(2, attempt.ttlMicros());
      statement.setString(3, attempt.holder());
      statement.setLong(4, served(place));
      setKey(statement, 5, attempt.key());
      statement.setLong(6, place);
      statement.setLong(7, place);
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
  public boolean release(
      Connection connection, String key, String owner, long number, long holdMicros)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(release)) {
      statement.setLong(1, holdMicros);
      statement.setLong(2, holdMicros);
      statement.setLong(3, holdMicros);
      setKey(statement, 4, key);
      statement.setString(5, owner);
      statement.setLong(6, number);
      return statement.executeUpdate() > 0;
    }
  }

  @Override
  public boolean handOver(
      Connection connection, String key, String owner, long number, long holdMicros)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(handOver)) {
      int next = setHandOver(statement, key, holdMicros);
      statement.setString(next, owner);
      statement.setLong(next + 1, number);
      return statement.executeUpdate() > 0;
    }
  }

  /** Sets what all hand-overs have; returns the index of the condition's first parameter. */
  private int setHandOver(PreparedStatement statement, String key, long holdMicros)
      throws SQLException {
    setKey(statement, 1, key);
    for (int i = 2; i <= 6; i++) {
      statement.setLong(i, holdMicros);
    }
    setKey(statement, 7, key);
    return 8;
  }

  @Override
  public long join(Connection connection, Attempt attempt) throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(join, Statement.RETURN_GENERATED_KEYS)) {
      setKey(statement, 1, attempt.key());
      statement.setString(2, attempt.owner());
      statement.setString(3, attempt.holder());
      statement.executeUpdate();
      return reported(statement);
    }
  }

  @Override
  public long accept(Connection connection, Attempt attempt) throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(accept, Statement.RETURN_GENERATED_KEYS)) {
      statement.setLong(1, attempt.ttlMicros());
      statement.setString(2, attempt.holder());
      setKey(statement, 3, attempt.key());
      statement.setString(4, attempt.owner());
      return statement.executeUpdate() == 0 ? NONE : reported(statement);
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
      statement.setString(setHandOver(statement, key, 0), owner);
      statement.executeUpdate();
    }
  }

  @Override
  public boolean forceRelease(Connection connection, String key, long number) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(forceRelease)) {
      statement.setLong(setHandOver(statement, key, 0), number);
      return statement.executeUpdate() > 0;
    }
  }

  /** InnoDB locks what an update looks at, and from REPEATABLE READ up keeps it locked. */
  @Override
  public boolean guardLocksWhatItRefuses() {
    return true;
  }

  @Override
  public void lockRow(Connection transaction, String key) throws SQLException {
    if (lockRow(transaction, lockRow, key) > 1) {
      KNOWN.add(known(key)); // One that was inserted is gone if the caller rolls back.
    }
  }

  /**
   * A name that is known to have a row is locked without a wait. To look whether it has one would
   * lock the gap where there is none, in which others could then insert nothing until the caller's
   * transaction ends; and a plain read would make a snapshot that is older than the lock. So one
   * that is not known is inserted, with the shortest wait that the server has.
   */
  @Override
  public boolean tryLockRow(Connection transaction, String key) throws SQLException {
    if (!KNOWN.has(known(key))) {
      return tryInsertRow(transaction, key);
    }
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

  private boolean tryInsertRow(Connection transaction, String key) throws SQLException {
    execute(transaction, WAIT_LITTLE);
    try {
      lockRow(transaction, key);
    } catch (SQLException e) {
      try {
        execute(transaction, WAIT_AS_BEFORE);
      } catch (SQLException e2) {
        e.addSuppressed(e2);
        throw e;
      }
      if (e.getErrorCode() != LOCK_WAIT_TIMEOUT || rollsBackOnTimeout(transaction)) {
        throw e;
      }
      KNOWN.add(known(key));
      return false;
    }
    execute(transaction, WAIT_AS_BEFORE);
    return true;
  }

  private String known(String key) {
    return table() + ' ' + key;
  }

  private static void execute(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /**
   * A setting, off by default, with which a lock wait that timed out has undone the caller's
   * transaction.
   */
  static boolean rollsBackOnTimeout(Connection transaction) throws SQLException {
    try (Statement statement = transaction.createStatement();
        ResultSet result = statement.executeQuery("SELECT @@innodb_rollback_on_timeout")) {
      return result.next() && result.getBoolean(1);
    }
  }

  /** Returns how many rows the server counts: one that it updated counts twice. */
  final int lockRow(Connection transaction, String sql, String key) throws SQLException {
    try (PreparedStatement statement = transaction.prepareStatement(sql)) {
      setKey(statement, 1, key);
      return statement.executeUpdate();
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

  @Override
  String now() {
    return "TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))";
  }

  /** UTC_TIMESTAMP is when the statement began; it may wait for the table (a DDL, a backup). */
  @Override
  String late() {
    return "GREATEST(0, TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)))";
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
