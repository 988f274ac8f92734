package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.postgresql.core.TransactionState;
import org.postgresql.jdbc.PgConnection;
import org.postgresql.util.PSQLWarning;
import org.postgresql.util.ServerErrorMessage;

/**
 * PostgreSQL 12 and later.
 *
 * <p>A hand-over sends a notification in the same statement, on the channel of the client whose
 * waiter now has the lock, with that waiter's owner id, the new grant number, and the time at which
 * the lock is free again unless the waiter accepts it. No other client is woken. So is the first in
 * line if a permit is free. If nobody waits, none is sent: the server serialises commits with
 * notifications.
 *
 * <p>A release does not wait until it is on disk ({@code synchronous_commit}). If the server
 * crashes before that, the lock stays taken until its TTL is over, as after a crash of its holder.
 * A client that takes the lock before that does wait for the disk, which then has the release too.
 * A release that keeps the lock for a while ({@code minHold}) waits, since that may outlast the
 * TTL. So does a hand-over, since the new holder may have the lock for longer than the old one.
 *
 * <p>Each client has an instance of its own, since each has its own channel.
 */
public final class Postgres extends Dialect {
  /** The beginning of the names of channels; the statements spell it out too. */
  private static final String CHANNEL_PREFIX = "holdfast_";

  /** The SQL state of a full queue of notifications, and of other limits that were exceeded. */
  private static final String TOO_MANY_NOTIFICATIONS = "54000";

  private static final long DDL_MILLIS_MAX = 2_000;

  private static final String COMPLETION_UNKNOWN = "40003";

  private static final Driver DRIVER = Driver.of(
      "org.postgresql.jdbc.PgConnection",
      connection -> connection.isWrapperFor(PgConnection.class)
          && connection.unwrap(PgConnection.class).getTransactionState() != TransactionState.IDLE);

  private final Sql tryLockRow = new Sql(this, """
      UPDATE {table} SET guarded = guarded + 1, changed_at = {now}
      WHERE name = (SELECT name FROM {table} WHERE name = :key FOR UPDATE SKIP LOCKED)
      """);
  private final Sql selectRow = new Sql(this, "SELECT 1 FROM {table} WHERE name = :key");
  private final Sql lockCreation =
      new Sql(this, "SELECT 1 FROM pg_advisory_xact_lock(hashtextextended(:creation, 0))");
  private final Sql tryLockCreation =
      new Sql(this, "SELECT pg_try_advisory_xact_lock(hashtextextended(:creation, 0))::int");

  private final Sql notify = new Sql(this, "SELECT 1 FROM pg_notify(:channel, :payload)");

  /** The last part of the name of the client's channel. */
  private final String inbox = UUID.randomUUID().toString();

  private volatile boolean isNotified = true;

  Postgres(String table) {
    super(new PostgresTexts(table), new PostgresFacts(table), "PostgreSQL", DRIVER);
  }

  @Override
  String inbox() {
    return isNotified ? inbox : "";
  }

  /** Has no hand-over to this client notified from now on. */
  public void leaveUnnotified() {
    isNotified = false;
  }

  /**
   * If the wait for a synchronous standby is cancelled, the server reports success, and warns that
   * only itself has the transaction. It has no SQL state of its own for that, and translates the
   * text; but it names its source file. A warning without one counts as well.
   */
  @Override
  public void checkKept(Warnings warnings) throws SQLException {
    for (SQLWarning w = warnings.first(); w != null; w = w.getNextWarning()) {
      String file = sourceFile(w);
      if (file == null || file.equals("syncrep.c")) {
        throw new SQLException(w.getMessage(), COMPLETION_UNKNOWN, w);
      }
    }
  }

  private static @Nullable String sourceFile(SQLWarning warning) {
    try {
      ServerErrorMessage message =
          warning instanceof PSQLWarning ours ? ours.getServerErrorMessage() : null;
      return message == null ? null : message.getFile();
    } catch (LinkageError e) { // The driver is not visible.
      return null;
    }
  }

  /** Returns the channel for notifications of hand-overs to waiters of this client. */
  public String channel() {
    return CHANNEL_PREFIX + inbox;
  }

  /** Returns the id of the server process of this connection. */
  public long backendProcess(Connection connection) throws SQLException {
    return new Sql(this, "SELECT pg_backend_pid()").first(connection, Map.of());
  }

  /** Sends a notification to this client; returns true. */
  public boolean notify(Connection connection, String payload) throws SQLException {
    return notify.first(connection, Map.of("channel", channel(), "payload", payload))
        != Protocol.NONE;
  }

  @Override
  public String limitedDdl(String sql) {
    return texts.limited(sql, DDL_MILLIS_MAX);
  }

  @Override
  public void lockRow(Connection transaction, String key) throws SQLException {
    Map<String, ?> values = ofRow(key);
    while (sql(LockStatement.TOUCH_ROW).update(transaction, values) == 0) {
      // Rows are inserted under an advisory lock, so that tryLockRow can tell whether another
      // transaction is inserting this one, without waiting for it.
      if (lockCreation.first(transaction, values) != Protocol.NONE
          && sql(LockStatement.CREATE_ROW).update(transaction, values) > 0) {
        return;
      }
    }
  }

  /**
   * No statement here fails because a row is locked, since that would abort the caller's
   * transaction.
   */
  @Override
  public boolean tryLockRow(Connection transaction, String key) throws SQLException {
    Map<String, ?> values = ofRow(key);
    while (tryLockRow.update(transaction, values) == 0) {
      if (selectRow.first(transaction, values) != Protocol.NONE
          || tryLockCreation.first(transaction, values) == Protocol.NONE) {
        return false;
      }
      if (sql(LockStatement.CREATE_ROW).update(transaction, values) > 0) {
        return true;
      }
    }
    return true;
  }

  /** Returns the name of a row, and that of the advisory lock under which it is inserted. */
  private Map<String, ?> ofRow(String key) {
    return Map.of("key", key, "creation", table() + ' ' + key);
  }

  @Override
  boolean end(Connection connection, Sql sql, Map<String, ?> values) throws SQLException {
    return runForNotified(connection, sql, values) != Protocol.NONE;
  }

  /**
   * Sends the statement without a notification if the server's queue of notifications is full; the
   * waiter then learns of it at its next poll. Commits here, since the server reports a full queue
   * only at the commit.
   */
  @Override
  long runForNotified(Connection connection, Sql sql, Map<String, ?> values) throws SQLException {
    Map<String, Object> all = new HashMap<>(values);
    all.put("notify", 1L);
    try {
      long report = sql.first(connection, all);
      if (!connection.getAutoCommit()) {
        connection.commit();
      }
      return report;
    } catch (SQLException e) {
      if (!TOO_MANY_NOTIFICATIONS.equals(e.getSQLState())) {
        throw e;
      }
      if (!connection.getAutoCommit()) {
        connection.rollback();
      }
      all.put("notify", 0L);
      return sql.first(connection, all);
    }
  }

  /**
   * Returns {@link Failure#UNKNOWN} for an error without an SQL state, or that may concern the
   * connection. With any other, the server has aborted the statement.
   */
  @Override
  public Failure failure(SQLException e) {
    if (!Failure.hasState(e, "")
        || Failure.hasState(e, "08", "40003", "57P", "58", "99", "F0", "XX", "00")) {
      return Failure.UNKNOWN;
    }
    return switch (e.getSQLState()) {
      case "40001", "40P01", "55P03" -> Failure.TRANSIENT;
      case "25006" -> Failure.READ_ONLY;
      case "42601" -> Failure.SYNTAX_ERROR;
      default -> Failure.REFUSED;
    };
  }

  @Override
  void setKey(PreparedStatement statement, int index, String key) throws SQLException {
    statement.setString(index, key);
  }

  @Override
  String key(ResultSet result, int column) throws SQLException {
    return result.getString(column);
  }
}
