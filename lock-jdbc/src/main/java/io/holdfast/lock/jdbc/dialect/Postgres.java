package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
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
 * the lock is free again unless the waiter accepts it. No other client is woken. If nobody waits,
 * none is sent: the server serialises commits with notifications.
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
  /** The beginning of the names of channels; the hand-over spells it out too. */
  private static final String CHANNEL_PREFIX = "holdfast_";

  /** The SQL state of a full queue of notifications, and of other limits that were exceeded. */
  private static final String TOO_MANY_NOTIFICATIONS = "54000";

  private static final String COMPLETION_UNKNOWN = "40003";

  /**
   * One more column, that has the server end a session that does not commit within this time what
   * the statement did. A shorter time that the session has already stays.
   */
  private static final String BOUNDED = """
      , CASE WHEN current_setting('idle_in_transaction_session_timeout')::interval
          NOT BETWEEN '1 ms' AND '10 s'
        THEN set_config('idle_in_transaction_session_timeout', '10 s', true) END""";

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
    super(table, "PostgreSQL", DRIVER);
  }

  @Override
  String template(Template template) {
    return switch (template) {
      // Not now(), which stands still within a transaction.
      case NOW -> "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
      case NAME_TYPES -> "text|varchar";
      case LATE -> "0";
      // The collation that the script gives the column. In a table that was made differently, this
      // is still right, but slow.
      case NAME_BY_BYTES -> "name COLLATE \"C\"";
      case UPDATE_ONE -> """
          WITH mine AS (
            SELECT name AS mine_name, {now} AS now{bounded} FROM {table} l
            WHERE name = :key AND {condition} FOR UPDATE SKIP LOCKED
          )
          UPDATE {table} SET {set} FROM mine WHERE name = mine_name
          RETURNING {reported}
          """;
      case REPORT -> "";
      case ACQUIRE -> """
          WITH taken AS ({update})
          SELECT number FROM taken
          UNION ALL
          SELECT CASE WHEN expires_at > {now} THEN 1 ELSE 2 END FROM {table}
          WHERE name = :key AND NOT EXISTS (SELECT 1 FROM taken)
          """.replace("{update}", template(Template.UPDATE_ONE));
      case INSERT -> """
          INSERT INTO {row}
          SELECT :key, :owner, now, now, now + :ttl, 0, 0, 0, :holder
          FROM (SELECT {now} AS now) clock
          ON CONFLICT (name) DO NOTHING
          RETURNING number{bounded}
          """;
      case RELEASE -> """
          WITH freed AS (
            UPDATE {table}
            SET owner = '', changed_at = CASE WHEN :hold = 0 THEN {now} ELSE changed_at END,
              expires_at = CASE WHEN :hold = 0 THEN 0 ELSE {now} + :hold END
            WHERE name = :key AND owner = :owner AND number = :number AND {unwanted}
            RETURNING expires_at
          )
          SELECT 1,
            CASE WHEN expires_at = 0 THEN set_config('synchronous_commit', 'off', true) END{bounded}
          FROM freed
          """;
      // Locks the lock's row first, then its first waiter's row; so a waiter that leaves is either
      // not found, or finds that it has the lock.
      case HAND_OVER -> """
          WITH mine AS (
            SELECT name AS mine_name, served AS mine_served, :hold::bigint AS hold{bounded}
            FROM {table}
            WHERE name = :key AND {condition} FOR UPDATE SKIP LOCKED
          ), ended AS (
            UPDATE {table} l
            SET owner = COALESCE(next_owner, ''), holder = COALESCE(next_holder, holder),
              served = COALESCE(next_place, served),
              number =
                CASE WHEN next_place IS NULL THEN number ELSE GREATEST(number + 1, {now}) END,
              changed_at = CASE WHEN hold = 0 THEN {now} ELSE changed_at END,
              expires_at = CASE WHEN next_place IS NOT NULL THEN {now} + {handed}
                WHEN hold = 0 THEN 0 ELSE {now} + hold END,
              wanted_until =
                CASE WHEN hold = 0 AND next_place IS NULL THEN 0 ELSE wanted_until END
            FROM mine LEFT JOIN LATERAL (
              SELECT a.place AS next_place, a.owner AS next_owner, a.holder AS next_holder,
                a.inbox AS next_inbox
              FROM {waiters} a
              WHERE a.name = mine_name AND a.place > mine_served AND hold = 0
                AND {alive waiter}
              ORDER BY a.place LIMIT 1 {first}
            ) next ON true
            WHERE l.name = mine_name
            RETURNING next_owner, next_inbox, number, expires_at
          )
          SELECT 1,
            CASE WHEN :notify = 1 AND next_inbox IS NOT NULL
              THEN pg_notify('holdfast_' || next_inbox,
                next_owner || ' ' || number || ' ' || expires_at)::text END,
            CASE WHEN {forgettable} AND expires_at = 0
              THEN set_config('synchronous_commit', 'off', true) END
          FROM ended
          """;
      case FIRST_OR_FAIL -> "FOR UPDATE NOWAIT";
      case FIRST_UNLOCKED -> "FOR UPDATE SKIP LOCKED";
      case JOIN -> """
          WITH mine AS (
            SELECT name AS mine_name FROM {table}
            WHERE name = :key AND {to be announced} FOR UPDATE SKIP LOCKED
          ), announced AS (
            UPDATE {table} SET wanted_until = {now} + {alive} FROM mine WHERE name = mine_name
          )
          INSERT INTO {waiters} (name, owner, alive_until, holder, inbox)
          VALUES (:key, :owner, {now} + {alive}, :holder, NULLIF(:inbox, '')) RETURNING place{bounded}
          """;
      case SCHEMA -> """
          SELECT quote_ident(COALESCE((
            SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE c.oid = to_regclass('{table}')), current_schema()))
          """;
      case ON_CONFLICT -> "ON CONFLICT (name) DO NOTHING";
      case UNLOCKED ->
        "SELECT name AS mine_name{bounded} FROM {table} WHERE {where} FOR UPDATE SKIP LOCKED";
      case UPDATE_UNLOCKED -> """
          WITH mine AS ({unlocked}) UPDATE {table} SET {set} FROM mine WHERE name = mine_name
          """;
      case DELETE_UNLOCKED -> """
          WITH mine AS ({unlocked}) DELETE FROM {table} USING mine WHERE name = mine_name
          """;
      case FACTS -> """
          version() AS holdfast_version, current_setting('server_encoding') AS holdfast_encoding,
          current_setting('synchronous_commit') AS holdfast_synchronous_commit,
          current_setting('fsync') AS holdfast_fsync,
          (SELECT relpersistence = 'p' FROM pg_class WHERE oid = to_regclass('{table}'))
            AS holdfast_kept
          """;
      case OWN_SCHEMA -> "current_schema()";
      case VERSION -> "l.name = '" + VERSION_KEY + "'";
      case TRY_WAITING -> """
          WITH joined AS (
            INSERT INTO {waiters} (name, owner, alive_until, holder)
            SELECT :key, :owner, 0, :holder WHERE FALSE
          ), alive AS (UPDATE {waiters} SET alive_until = 0 WHERE FALSE)
          DELETE FROM {waiters} WHERE FALSE
          """;
      case UNIQUE_KEYS -> """
          SELECT count(*) FROM pg_index i
          JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
          WHERE i.indrelid = '{table}'::regclass AND i.indisunique AND i.indisvalid
            AND i.indnkeyatts = 1 AND i.indpred IS NULL AND a.attname = 'name'
          """;
    };
  }

  /** Reads the clock once, so that what is stored agrees with what is reported. */
  @Override
  Sql updateOne(Template template, String condition, String set, String reported) {
    return super.updateOne(
        template, condition, set.replace("{now}", "now"), reported.replace("{now}", "now"));
  }

  @Override
  String bounded() {
    return BOUNDED;
  }

  /**
   * Sets the limit for the transaction of this request. The statement itself could not, since it
   * locks the table before it runs.
   */
  @Override
  String limited(String sql, long millis) {
    return "SELECT set_config('lock_timeout', '" + millis + "', true); " + sql;
  }

  @Override
  boolean limitsInFront() {
    return true;
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
   * Looks at what the server says of its version: from a look-alike, the driver gets the version of
   * PostgreSQL that it claims to be compatible with.
   */
  @Override
  public void checkServer(ResultSet answer) throws SQLException {
    LookAlikes.refuse(answer.getString("holdfast_version"));
    String encoding = answer.getString("holdfast_encoding");
    if (!encoding.equals("UTF8") && !encoding.equals("SQL_ASCII")) {
      throw new IllegalStateException(
          ("The database's encoding is %s, which can't hold every" + " lock name; it must be UTF8")
              .formatted(encoding));
    }
  }

  @Override
  public List<String> risks(ResultSet answer) throws SQLException {
    List<String> risks = new ArrayList<>();
    if (answer.getString("holdfast_synchronous_commit").equals("off")) {
      risks.add("synchronous_commit=off, by any crash of the server");
    }
    if (answer.getString("holdfast_fsync").equals("off")) {
      risks.add("fsync=off, by a crash of the server's machine");
    }
    return risks;
  }

  @Override
  public @Nullable String flaw(ResultSet answer) throws SQLException {
    return answer.getBoolean("holdfast_kept")
        ? super.flaw(answer)
        : "a crash of the server would empty it, since it is UNLOGGED (or temporary): ALTER TABLE "
            + table() + " SET LOGGED";
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
    return query(connection, new Sql(this, "SELECT pg_backend_pid()"), Map.of());
  }

  /** Sends a notification to this client; returns true. */
  public boolean notify(Connection connection, String payload) throws SQLException {
    return query(connection, notify, Map.of("channel", channel(), "payload", payload)) != NONE;
  }

  @Override
  public void lockRow(Connection transaction, String key) throws SQLException {
    Map<String, ?> values = ofRow(key);
    while (update(transaction, touchRow, values) == 0) {
      // Rows are inserted under an advisory lock, so that tryLockRow can tell whether another
      // transaction is inserting this one, without waiting for it.
      if (query(transaction, lockCreation, values) != NONE
          && update(transaction, createRow, values) > 0) {
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
    while (update(transaction, tryLockRow, values) == 0) {
      if (query(transaction, selectRow, values) != NONE
          || query(transaction, tryLockCreation, values) == NONE) {
        return false;
      }
      if (update(transaction, createRow, values) > 0) {
        return true;
      }
    }
    return true;
  }

  /** Returns the name of a row, and that of the advisory lock under which it is inserted. */
  private Map<String, ?> ofRow(String key) {
    return Map.of("key", key, "creation", table() + ' ' + key);
  }

  /**
   * Sends the statement without a notification if the server's queue of notifications is full; the
   * next holder then learns of the hand-over at its next poll. Commits here, since the server
   * reports a full queue only at the commit.
   */
  @Override
  boolean end(Connection connection, Sql sql, Map<String, ?> values) throws SQLException {
    Map<String, Object> all = new HashMap<>(values);
    all.put("notify", 1L);
    try {
      boolean ended = query(connection, sql, all) != NONE;
      if (!connection.getAutoCommit()) {
        connection.commit();
      }
      return ended;
    } catch (SQLException e) {
      if (!TOO_MANY_NOTIFICATIONS.equals(e.getSQLState())) {
        throw e;
      }
      if (!connection.getAutoCommit()) {
        connection.rollback();
      }
      all.put("notify", 0L);
      return query(connection, sql, all) != NONE;
    }
  }

  /**
   * Returns {@link Failure#UNKNOWN} for an error without an SQL state, or that may concern the
   * connection. With any other, the server has aborted the statement.
   */
  @Override
  public Failure failure(SQLException e) {
    if (!hasClass(e, "") || hasClass(e, "08", "40003", "57P", "58", "99", "F0", "XX", "00")) {
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
