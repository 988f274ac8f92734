package io.holdfast.lock.jdbc.dialect;

import com.mysql.cj.jdbc.JdbcConnection;
import com.mysql.cj.protocol.ServerSession;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

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

  private static final int KNOWN_MAX = 10_000;

  /**
   * The names whose rows this process has found, with their tables; the last {@value #KNOWN_MAX}.
   * Static, since a {@code TransactionLock} may be made for each call. Can be wrong about a name
   * that was purged since, or that is in another database's table of the same name.
   */
  private static final Set<String> KNOWN =
      Collections.synchronizedSet(Collections.newSetFromMap(new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
          return size() > KNOWN_MAX;
        }
      }));

  private final Sql waitLittle = new Sql(
      this,
      "SET @holdfast_wait = @@innodb_lock_wait_timeout, SESSION innodb_lock_wait_timeout = 1");
  private final Sql waitAsBefore =
      new Sql(this, "SET SESSION innodb_lock_wait_timeout = @holdfast_wait");
  private final Sql rollsBackOnTimeout = new Sql(this, "SELECT @@innodb_rollback_on_timeout");

  MySql(String table) {
    this(
        new MySqlTexts(table),
        new MySqlFacts(table, "performance_schema.session_variables"),
        "MySQL",
        DRIVER);
  }

  MySql(Texts texts, Facts facts, String database, Driver driver) {
    super(texts, facts, database, driver);
  }

  /**
   * Whether the session is in a transaction, or its autocommit is off, as of the server's last
   * answer.
   */
  private static boolean isInTransaction(ServerSession session) {
    return session.inTransactionOnServer() || !session.isAutocommit();
  }

  /**
   * Returns true: InnoDB locks every row that an update examines and, from REPEATABLE READ up,
   * keeps it locked.
   */
  @Override
  public boolean guardLocksWhatItRefuses() {
    return true;
  }

  /** Returns false: no statement can limit it. */
  @Override
  boolean limitsWaitsForRows() {
    return false;
  }

  /**
   * Sends two statements for a reader, whose acquire announces nothing; nobody looks for an
   * announcement of one that waits for a permit.
   */
  @Override
  public long join(Connection connection, StoredClaim claim) throws SQLException {
    if (claim.shared() && !claim.isForPermit()) {
      announce(connection, List.of(claim.key()));
    }
    return super.join(connection, claim);
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
    if (sql(LockStatement.CREATE_ROW).update(transaction, Map.of("key", key)) > 1) {
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
    waitLittle.update(transaction, Map.of());
    try {
      lockRow(transaction, key);
    } catch (SQLException e) {
      try {
        waitAsBefore.update(transaction, Map.of());
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
    waitAsBefore.update(transaction, Map.of());
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
    return rollsBackOnTimeout.first(transaction, Map.of()) != Protocol.NONE;
  }

  @Override
  public Failure failure(SQLException e) {
    Failure other = e.getErrorCode() > 0 && Failure.hasState(e, "22", "23", "25", "28", "42")
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
        return Protocol.UNSURE;
      }
      throw e;
    }
  }

  @Override
  long runForReport(Connection connection, Sql sql, Map<String, ?> values) throws SQLException {
    return sql.generatedKey(connection, values);
  }
}
