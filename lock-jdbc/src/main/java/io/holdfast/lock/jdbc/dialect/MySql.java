package io.holdfast.lock.jdbc.dialect;

import com.mysql.cj.jdbc.JdbcConnection;
import com.mysql.cj.protocol.ServerSession;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * MySQL 8.0 and later, through Connector/J.
 *
 * <p>An update reports a number, such as that of a grant, in its own answer:
 * {@code LAST_INSERT_ID(expression)} makes the server report the expression as a generated key.
 * This leaves nothing in the session but the function's value, as any insert does.
 */
public sealed class MySql extends Dialect permits MariaDb {
  static final Driver DRIVER = Driver.of(
      "com.mysql.cj.jdbc.JdbcConnection",
      connection -> connection.isWrapperFor(JdbcConnection.class)
          && isInTransaction(
              connection.unwrap(JdbcConnection.class).getSession().getServerSession()));

  /** The error code of a conflict under MariaDB's snapshot isolation; its SQL state is HY000. */
  private static final int RECORD_CHANGED = 1020;

  static final int LOCK_WAIT_TIMEOUT = 1205;
  private static final int DEADLOCK = 1213;
  private static final int LOCKED_AND_NO_WAIT = 3572;

  /** The error code of group replication if another node's commit came first. */
  private static final int ROLLED_BACK_BY_PLUGIN = 3101;

  /** The beginning of a comment with hints for the server. */
  private static final String HINT = "/*+ ";

  private static final int KNOWN_MAX = 10_000;

  /**
   * The names whose rows this process has found, with their tables; the last {@value #KNOWN_MAX}.
   * Static, since a {@code TransactionLock} keeps no state between its calls. Can be wrong about a
   * name that was purged since, or that is in another database's table of the same name.
   */
  private static final Set<String> KNOWN =
      Collections.synchronizedSet(Collections.newSetFromMap(new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
          return size() > KNOWN_MAX;
        }
      }));

  /**
   * The assignments by which a claim takes a lock for which the condition holds; any other row is
   * only announced to. They are made from left to right, so what the condition reads comes last.
   */
  static final String TAKE_OR_TELL = """
      number = CASE WHEN {condition} THEN LAST_INSERT_ID(GREATEST(number + 1, {now}))
          WHEN LAST_INSERT_ID(IF(expires_at > {now}, 1, 2)) THEN number END,
        owner = IF({condition}, :owner, owner), holder = IF({condition}, :holder, holder),
        changed_at = IF({condition}, {now}, changed_at), wanted_until = {wanted},
        expires_at = IF({condition}, {now} + :ttl, expires_at)""";

  private final Sql waitLittle = new Sql(
      this,
      "SET @holdfast_wait = @@innodb_lock_wait_timeout, SESSION innodb_lock_wait_timeout = 1");
  private final Sql waitAsBefore =
      new Sql(this, "SET SESSION innodb_lock_wait_timeout = @holdfast_wait");
  private final Sql rollsBackOnTimeout = new Sql(this, "SELECT @@innodb_rollback_on_timeout");

  MySql(String table) {
    this(table, "MySQL", DRIVER);
  }

  MySql(String table, String database, Driver driver) {
    super(table, database, driver);
  }

  @Override
  String template(Template template) {
    return switch (template) {
      case NOW -> "TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))";
      case NAME_TYPES -> "varbinary";
      // UTC_TIMESTAMP stands still from the beginning of the statement, which may have waited for
      // the table since (for a DDL statement, or a backup).
      case LATE -> "GREATEST(0, TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)))";
      case NAME_BY_BYTES -> "name";
      // The inner query locks the row, or passes over it.
      case UPDATE_ONE -> """
          UPDATE {table} SET {set} WHERE name = (SELECT name FROM (
            SELECT name FROM {table} l WHERE name = :key AND {condition}
            FOR UPDATE SKIP LOCKED) mine)
          """;
      case REPORT -> "LAST_INSERT_ID";
      case ACQUIRE -> """
          UPDATE {table} SET {take} WHERE name = (SELECT name FROM (
            SELECT name FROM {table} WHERE name = :key FOR UPDATE NOWAIT) mine)
          """.replace("{take}", TAKE_OR_TELL);
      case INSERT -> """
          INSERT INTO {row}
          VALUES (:key, :owner, LAST_INSERT_ID({now}), {now}, {now} + :ttl, 0, 0, 0, :holder)
          """;
      case RELEASE ->
        template(Template.UPDATE_ONE)
            .replace("{condition}", "owner = :owner AND number = :number AND {unwanted}")
            .replace("{set}", """
                owner = '', changed_at = IF(:hold = 0, {now}, changed_at),
                expires_at = IF(:hold = 0, 0, {now} + :hold)
                """);
      // The inner queries lock the lock's row before its first waiter's row, and no other's; so a
      // waiter that leaves is either not found, or finds that it has the lock. No assignment reads
      // what another one writes, since their order is not defined. The limits keep the inner
      // queries from being merged into the update, which would wait for locked rows.
      case HAND_OVER -> """
          UPDATE (
            SELECT name AS mine_name FROM {table} WHERE name = :key AND {condition}
            LIMIT 1 FOR UPDATE SKIP LOCKED
          ) mine LEFT JOIN (
            SELECT a.place AS next_place, a.owner AS next_owner, a.holder AS next_holder
            FROM {table} b STRAIGHT_JOIN {waiters} a ON a.name = b.name AND a.place > b.served
            WHERE b.name = :key AND :hold = 0 AND {alive waiter}
            ORDER BY a.place LIMIT 1 {first}
          ) next ON TRUE STRAIGHT_JOIN {table} ON name = mine_name
          SET owner = COALESCE(next_owner, ''), holder = COALESCE(next_holder, holder),
            served = COALESCE(next_place, served),
            number = IF(next_place IS NULL, number, GREATEST(number + 1, {now})),
            changed_at = IF(:hold = 0, {now}, changed_at),
            expires_at = IF(next_place IS NULL, IF(:hold = 0, 0, {now} + :hold), {now} + {handed}),
            wanted_until = IF(:hold = 0 AND next_place IS NULL, 0, wanted_until)
          """;
      case FIRST_OR_FAIL -> "FOR UPDATE OF b SKIP LOCKED FOR UPDATE OF a NOWAIT";
      case FIRST_UNLOCKED -> "FOR UPDATE OF b SKIP LOCKED FOR UPDATE OF a SKIP LOCKED";
      case JOIN -> """
          INSERT INTO {waiters} (name, owner, alive_until, holder)
          VALUES (:key, :owner, {now} + {alive}, :holder)
          """;
      case SCHEMA -> "SELECT CONCAT('`', REPLACE(DATABASE(), '`', '``'), '`')";
      // Locks the row if it is there. Takes no gap lock, which two transactions could hold at once.
      case ON_CONFLICT ->
        "ON DUPLICATE KEY UPDATE guarded = {table}.guarded + 1, changed_at = {now}";
      case UNLOCKED -> """
          SELECT name AS mine_name FROM {table} FORCE INDEX (PRIMARY)
          WHERE {where} FOR UPDATE SKIP LOCKED
          """;
      // Without NO_MERGE, the derived table is merged into the update, which then waits for locked
      // rows.
      case UPDATE_UNLOCKED -> """
          UPDATE /*+ NO_MERGE(mine) */ ({unlocked}) mine
          STRAIGHT_JOIN {table} ON name = mine_name SET {set}
          """;
      case DELETE_UNLOCKED -> """
          DELETE /*+ NO_MERGE(mine) */ {table} FROM ({unlocked}) mine
          STRAIGHT_JOIN {table} ON name = mine_name
          """;
      case FACTS -> variables("performance_schema.session_variables") + """
            , (SELECT COUNT(*) FROM information_schema.tables
              WHERE table_schema = {in schema}
                AND table_name = {in table} AND engine = 'InnoDB') AS holdfast_innodb
            """;
      case OWN_SCHEMA -> "DATABASE()";
      case VERSION -> "l.name = '" + VERSION_KEY + "'";
      case TRY_WAITING -> """
          INSERT INTO {waiters} (name, owner, alive_until, holder)
          SELECT name, owner, 0, holder FROM {waiters} WHERE FALSE
          ON DUPLICATE KEY UPDATE alive_until = 0
          """;
      case UNIQUE_KEYS -> """
          SELECT COUNT(*) FROM (
            SELECT index_name FROM information_schema.statistics
            WHERE table_schema = {in schema}
              AND table_name = {in table} AND non_unique = 0
            GROUP BY index_name
            HAVING COUNT(*) = 1 AND MAX(LOWER(column_name)) = 'name' AND MAX(sub_part) IS NULL) u
          """;
    };
  }

  @Override
  public void checkServer(ResultSet answer) throws SQLException {
    for (String version : List.of("holdfast_version", "holdfast_version_comment")) {
      LookAlikes.refuse(Objects.requireNonNullElse(answer.getString(version), ""));
    }
    if ("ON".equalsIgnoreCase(answer.getString("holdfast_log_bin"))
        && "STATEMENT".equalsIgnoreCase(answer.getString("holdfast_binlog_format"))) {
      throw new IllegalStateException("The server has binlog_format=STATEMENT. Locks ask the clock"
          + " and pass over locked rows, which a replica would do with another outcome, and which"
          + " fails at READ COMMITTED: SET GLOBAL binlog_format = 'ROW' (the default; MIXED will"
          + " do, too), in the server's configuration as well, and open new connections");
    }
  }

  @Override
  public List<String> risks(ResultSet answer) throws SQLException {
    List<String> risks = new ArrayList<>();
    String flush = answer.getString("holdfast_innodb_flush_log_at_trx_commit");
    if (!"1".equals(flush)) {
      String crash = "0".equals(flush) ? "any crash of the server" : "a crash of its machine";
      risks.add("innodb_flush_log_at_trx_commit=" + flush + ", by " + crash);
    }
    String sync = answer.getString("holdfast_sync_binlog");
    if ("ON".equalsIgnoreCase(answer.getString("holdfast_log_bin")) && !"1".equals(sync)) {
      risks.add("sync_binlog=" + sync + ", by a crash of its machine");
    }
    return risks;
  }

  /**
   * Returns the columns with the server's variables, which are null if it has none of that name.
   *
   * @param table the table that has them
   */
  static String variables(String table) {
    return Stream.of(
            "version",
            "version_comment",
            "log_bin",
            "binlog_format",
            "sync_binlog",
            "innodb_flush_log_at_trx_commit")
        .map(name -> "(SELECT variable_value FROM %s WHERE variable_name = '%s') AS holdfast_%s"
            .formatted(table, name, name))
        .collect(Collectors.joining(", "));
  }

  /**
   * Whether the session is in a transaction, or its autocommit is off, as of the server's last
   * answer.
   */
  private static boolean isInTransaction(ServerSession session) {
    return session.inTransactionOnServer() || !session.isAutocommit();
  }

  @Override
  public @Nullable String flaw(ResultSet answer) throws SQLException {
    return answer.getLong("holdfast_innodb") > 0
        ? super.flaw(answer)
        : "it must be a table, no view, and its engine must be InnoDB";
  }

  /**
   * Returns true: InnoDB locks every row that an update examines and, from REPEATABLE READ up,
   * keeps it locked.
   */
  @Override
  public boolean guardLocksWhatItRefuses() {
    return true;
  }

  /** Sends two statements: none has all rights. */
  @Override
  public void tryWaiting(Connection connection, StoredClaim claim) throws SQLException {
    super.tryWaiting(connection, claim);
    leave(connection, List.of(claim));
  }

  @Override
  public void lockRow(Connection transaction, String key) throws SQLException {
    // The server counts an updated row twice, and an inserted row once. An inserted row is gone if
    // the caller rolls back, so its name is not added.
    if (update(transaction, createRow, Map.of("key", key)) > 1) {
      KNOWN.add(known(key));
    }
  }

  /**
   * Locks the row of a known name without waiting. For any other name, does {@link #lockRow} with
   * the shortest wait that the server has. It does not read first: a locking read of a missing row
   * would lock the gap, and others could insert nothing there until the caller's transaction ends;
   * a plain read would make a snapshot that is older than the lock.
   */
  @Override
  public boolean tryLockRow(Connection transaction, String key) throws SQLException {
    return KNOWN.contains(known(key))
        ? lockIfFree(transaction, key, LOCKED_AND_NO_WAIT)
        : tryInsertRow(transaction, key);
  }

  private boolean tryInsertRow(Connection transaction, String key) throws SQLException {
    update(transaction, waitLittle, Map.of());
    try {
      lockRow(transaction, key);
    } catch (SQLException e) {
      try {
        update(transaction, waitAsBefore, Map.of());
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
    update(transaction, waitAsBefore, Map.of());
    return true;
  }

  private String known(String key) {
    return table() + ' ' + key;
  }

  /**
   * Whether the server rolls back the whole transaction when a lock wait times out; a setting that
   * is off by default.
   */
  final boolean rollsBackOnTimeout(Connection transaction) throws SQLException {
    return query(transaction, rollsBackOnTimeout, Map.of()) != NONE;
  }

  @Override
  public Failure failure(SQLException e) {
    Failure other = e.getErrorCode() > 0 && hasClass(e, "22", "23", "25", "28", "42")
        ? Failure.REFUSED
        : Failure.UNKNOWN;
    return switch (e.getErrorCode()) {
      case RECORD_CHANGED, LOCK_WAIT_TIMEOUT, DEADLOCK, LOCKED_AND_NO_WAIT -> Failure.TRANSIENT;
      case ROLLED_BACK_BY_PLUGIN -> Failure.TRANSIENT;
      case 1290, 1792, 1836 -> Failure.READ_ONLY;
      case 1062 -> Failure.DUPLICATE;
      case 1064 -> Failure.SYNTAX_ERROR;
      default -> "40001".equals(e.getSQLState()) ? Failure.TRANSIENT : other;
    };
  }

  @Override
  long acquire(Connection connection, Sql sql, Map<String, ?> values) throws SQLException {
    try {
      return super.acquire(connection, sql, values);
    } catch (SQLException e) {
      if (e.getErrorCode() == LOCKED_AND_NO_WAIT) {
        return UNSURE;
      }
      throw e;
    }
  }

  @Override
  long runForReport(Connection connection, Sql sql, Map<String, ?> values) throws SQLException {
    return sql.generatedKey(connection, values);
  }

  /** Limits the wait by a hint of the statement, in whole seconds. */
  @Override
  String limited(String sql, long millis) {
    String hint = "/*+ SET_VAR(lock_wait_timeout=" + seconds(millis) + ") ";
    // Only the first comment with hints counts.
    return sql.contains(HINT) ? sql.replace(HINT, hint) : sql.replaceFirst(" ", " " + hint + "*/ ");
  }

  static long seconds(long millis) {
    return Math.max(1, TimeUnit.MILLISECONDS.toSeconds(millis));
  }
}
