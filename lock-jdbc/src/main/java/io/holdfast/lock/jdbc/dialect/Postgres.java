package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * PostgreSQL 12 and later.
 *
 * <p>A hand-over notifies in the same statement, on the channel of the client whose waiter has the
 * lock now, with that waiter's owner id and the new number: no other client is woken. Nobody
 * waiting means no notification: those are serialised over the whole server at commit.
 *
 * <p>One for each client, since the channel is its own.
 */
public final class Postgres extends Dialect {
  private static final String CHANNEL_PREFIX = "holdfast_";

  /**
   * A release is not waited for until it is on the disk. If the server crashes in the moment
   * between, the lock stays taken until its TTL, as it does when its holder crashes. Who takes it
   * meanwhile waits for the disk, and what was written before is on it then. A release that keeps
   * the lock for a while ({@code minHold}) does wait: that while may outlast the TTL. And so does a
   * hand-over: its waiter may have the lock for longer than the one before.
   */
  private static final String SOON_DURABLE =
      "CASE WHEN expires_at = 0 THEN set_config('synchronous_commit', 'off', true) END";

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
  private final String tryLockRow;
  private final String selectRow;
  private final String createRow;
  private final String lockCreation;
  private final String tryLockCreation;

  /** What the client's channel ends with. */
  private final String inbox = UUID.randomUUID().toString();

  Postgres(String table) {
    super(table);
    acquire = taking("wanted_until <= {now}", "served");
    take = taking(
        "served < ? AND NOT EXISTS (SELECT 1 " + LINE + " AND a.place < ?)", "GREATEST(served, ?)");
    insert = sql("""
            INSERT INTO {table}
              (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder)
            SELECT ?, ?, now, now, now + ?, 0, 0, 0, ? FROM (SELECT {now} AS now) clock
            ON CONFLICT (name) DO NOTHING
            RETURNING number
            """);
    release = sql("""
        WITH freed AS (
          UPDATE {table} SET owner = '', changed_at = CASE WHEN ? = 0 THEN {now} ELSE changed_at END,
            expires_at = CASE WHEN ? = 0 THEN 0 ELSE {now} + ? END
          WHERE name = ? AND owner = ? AND number = ? AND wanted_until <= {now}
          RETURNING expires_at
        )
        SELECT 1, {more} FROM freed
        """.replace("{more}", SOON_DURABLE));
    handOver = handingOver("owner = ? AND number = ?", ", " + SOON_DURABLE);
    withdraw = handingOver("owner = ?", "");
    forceRelease = handingOver("number = ? AND expires_at > {now}", "");
    join = sql("""
        INSERT INTO {waiters} (name, owner, alive_until, holder, inbox)
        VALUES (?, ?, {now} + {alive}, ?, ?) RETURNING place
        """.replace("{alive}", String.valueOf(ALIVE_MICROS)));
    accept = sql("""
        UPDATE {table} SET expires_at = {now} + ?, holder = ?
        WHERE name = ? AND owner = ? AND expires_at > {now}
        RETURNING number
        """);
    extend = sql("""
            WITH mine AS (
              SELECT name AS mine_name, {now} AS now FROM {table}
              WHERE name = ? AND owner = ? AND number = ? AND expires_at > {now}
              FOR UPDATE SKIP LOCKED
            )
            UPDATE {table} SET expires_at = GREATEST(expires_at, now + ?)
            FROM mine WHERE name = mine_name
            RETURNING expires_at - now
            """);
    lockRow = sql("UPDATE {table} SET guarded = guarded + 1, changed_at = {now} WHERE name = ?");
    tryLockRow = sql("""
        UPDATE {table} SET guarded = guarded + 1, changed_at = {now}
        WHERE name = (SELECT name FROM {table} WHERE name = ? FOR UPDATE SKIP LOCKED)
        """);
    selectRow = sql("SELECT 1 FROM {table} WHERE name = ?");
    createRow = sql("""
            INSERT INTO {table}
              (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder)
            VALUES (?, '', 0, {now}, 0, 0, 0, 0, '')
            ON CONFLICT (name) DO NOTHING
            """);
    lockCreation = "SELECT 1 FROM pg_advisory_xact_lock(hashtextextended(?, 0))";
    tryLockCreation = "SELECT pg_try_advisory_xact_lock(hashtextextended(?, 0))::int";
  }

  /** Takes the lock if it is free and the condition holds. */
  private String taking(String condition, String served) {
    return sql("""
        WITH free AS (
          SELECT name AS free_name, {now} AS now FROM {table} l
          WHERE name = ? AND expires_at <= {now} AND {condition} FOR UPDATE SKIP LOCKED
        )
        UPDATE {table}
        SET number = GREATEST(number + 1, now), owner = ?, changed_at = now,
          expires_at = now + ?, holder = ?, served = {served}
        FROM free WHERE name = free_name
        RETURNING number
        """.replace("{condition}", condition).replace("{served}", served));
  }

  /**
   * Hands a row for which the condition holds to the first in its line, or frees it. The waiter's
   * row is locked, so that one who leaves either is not found, or finds that it has the lock.
   */
  private String handingOver(String condition, String more) {
    return sql("""
        WITH ended AS (
          UPDATE {table} l
          SET owner = COALESCE(next_owner, ''), holder = COALESCE(next_holder, holder),
            served = COALESCE(next_place, served),
            number = CASE WHEN next_place IS NULL THEN number ELSE GREATEST(number + 1, {now}) END,
            changed_at = CASE WHEN hold = 0 THEN {now} ELSE changed_at END,
            expires_at = CASE WHEN next_place IS NOT NULL THEN {now} + {handed}
              WHEN hold = 0 THEN 0 ELSE {now} + hold END,
            wanted_until =
              CASE WHEN hold = 0 AND next_place IS NULL THEN 0 ELSE wanted_until END
          FROM (SELECT ?::text AS key, ?::bigint AS hold) given LEFT JOIN LATERAL (
            SELECT a.place AS next_place, a.owner AS next_owner, a.holder AS next_holder,
              a.inbox AS next_inbox
            FROM {table} b JOIN {waiters} a ON a.name = b.name AND a.place > b.served
            WHERE b.name = key AND hold = 0 AND a.alive_until > {now}
            ORDER BY a.place LIMIT 1 FOR UPDATE OF a
          ) next ON true
          WHERE l.name = key AND {condition}
          RETURNING next_owner, next_inbox, number, expires_at
        )
        SELECT 1, CASE WHEN next_inbox IS NOT NULL
          THEN pg_notify('{prefix}' || next_inbox, next_owner || ' ' || number)::text END{more}
        FROM ended
        """.replace("{more}", more)
        .replace("{handed}", String.valueOf(HANDED_OVER_MICROS))
        .replace("{condition}", condition)
        .replace("{prefix}", CHANNEL_PREFIX));
  }

  @Override
  public String database() {
    return "PostgreSQL";
  }

  @Override
  public String script() {
    return "postgresql.sql";
  }

  /** The driver's own version number is what a look-alike says it is compatible with. */
  @Override
  public void checkServer(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet result =
            statement.executeQuery("SELECT version(), current_setting('server_encoding')")) {
      result.next();
      LookAlikes.refuse(result.getString(1));
      String encoding = result.getString(2);
      if (!encoding.equals("UTF8") && !encoding.equals("SQL_ASCII")) {
        throw new IllegalStateException("The database's encoding is "
            + encoding
            + ", which can't hold every lock name; it must be UTF8");
      }
    }
  }

  @Override
  public @Nullable String flaw(Connection connection) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement("""
            SELECT count(*) FROM pg_index i
            JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
            WHERE i.indrelid = ?::regclass AND i.indisunique AND i.indisvalid
              AND i.indnkeyatts = 1 AND i.indpred IS NULL AND a.attname = 'name'
            """)) {
      statement.setString(1, table());
      return queryLong(statement, 0) > 0 ? null : "it has no unique key on the column name";
    }
  }

  @Override
  public boolean isExactNameType(String typeName) {
    return typeName.equalsIgnoreCase("text") || typeName.equalsIgnoreCase("varchar");
  }

  @Override
  public long acquire(Connection connection, Attempt attempt) throws SQLException {
    return take(connection, acquire, attempt);
  }

  @Override
  public long insert(Connection connection, Attempt attempt) throws SQLException {
    return take(connection, insert, attempt);
  }

  private long take(Connection connection, String sql, Attempt attempt) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      setKey(statement, 1, attempt.key());
      statement.setString(2, attempt.owner());
      statement.setLong(3, attempt.ttlMicros());
      statement.setString(4, attempt.holder());
      return queryLong(statement, NONE);
    }
  }

  @Override
  public long take(Connection connection, Attempt attempt, long place) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(take)) {
      setKey(statement, 1, attempt.key());
      statement.setLong(2, place);
      statement.setLong(3, place);
      statement.setString(4, attempt.owner());
      statement.setLong(5, attempt.ttlMicros());
      statement.setString(6, attempt.holder());
      statement.setLong(7, served(place));
      return queryLong(statement, NONE);
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
      return queryLong(statement, NONE) != NONE;
    }
  }

  @Override
  public boolean handOver(
      Connection connection, String key, String owner, long number, long holdMicros)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(handOver)) {
      setKey(statement, 1, key);
      statement.setLong(2, holdMicros);
      statement.setString(3, owner);
      statement.setLong(4, number);
      return queryLong(statement, NONE) != NONE;
    }
  }

  @Override
  public long join(Connection connection, Attempt attempt) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(join)) {
      setKey(statement, 1, attempt.key());
      statement.setString(2, attempt.owner());
      statement.setString(3, attempt.holder());
      statement.setString(4, inbox);
      return queryLong(statement, NONE);
    }
  }

  @Override
  public long accept(Connection connection, Attempt attempt) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(accept)) {
      statement.setLong(1, attempt.ttlMicros());
      statement.setString(2, attempt.holder());
      setKey(statement, 3, attempt.key());
      statement.setString(4, attempt.owner());
      return queryLong(statement, NONE);
    }
  }

  @Override
  public long extend(Connection connection, String key, String owner, long number, long ttlMicros)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(extend)) {
      setKey(statement, 1, key);
      statement.setString(2, owner);
      statement.setLong(3, number);
      statement.setLong(4, ttlMicros);
      return queryLong(statement, NONE);
    }
  }

  @Override
  public void withdraw(Connection connection, String key, String owner) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(withdraw)) {
      setKey(statement, 1, key);
      statement.setLong(2, 0);
      statement.setString(3, owner);
      queryLong(statement, NONE);
    }
  }

  @Override
  public boolean forceRelease(Connection connection, String key, long number) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(forceRelease)) {
      setKey(statement, 1, key);
      statement.setLong(2, 0);
      statement.setLong(3, number);
      return queryLong(statement, NONE) != NONE;
    }
  }

  /** The channel on which hand-overs to waiters of this client are notified. */
  public String channel() {
    return CHANNEL_PREFIX + inbox;
  }

  /** The number of the process that serves this connection. */
  public int backendProcess(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery("SELECT pg_backend_pid()")) {
      result.next();
      return result.getInt(1);
    }
  }

  /** Sends a notification to this client. */
  public void notify(Connection connection, String payload) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement("SELECT pg_notify(?, ?)")) {
      statement.setString(1, channel());
      statement.setString(2, payload);
      statement.execute();
    }
  }

  @Override
  public void lockRow(Connection transaction, String key) throws SQLException {
    while (!changes(transaction, lockRow, key)) {
      // An insert would wait for another transaction that inserts the same, and so does this.
      if (queriesTrue(transaction, lockCreation, key) && changes(transaction, createRow, key)) {
        return;
      }
    }
  }

  /** No statement fails for a row that is locked, which would abort the caller's transaction. */
  @Override
  public boolean tryLockRow(Connection transaction, String key) throws SQLException {
    while (!changes(transaction, tryLockRow, key)) {
      if (exists(transaction, key) || !queriesTrue(transaction, tryLockCreation, key)) {
        return false;
      }
      if (changes(transaction, createRow, key)) {
        return true;
      }
    }
    return true;
  }

  private boolean changes(Connection transaction, String sql, String key) throws SQLException {
    try (PreparedStatement statement = transaction.prepareStatement(sql)) {
      setKey(statement, 1, key);
      return statement.executeUpdate() > 0;
    }
  }

  private boolean exists(Connection transaction, String key) throws SQLException {
    try (PreparedStatement statement = transaction.prepareStatement(selectRow)) {
      setKey(statement, 1, key);
      return queryLong(statement, NONE) != NONE;
    }
  }

  /** Takes the advisory lock under which the row of this name is made. */
  private boolean queriesTrue(Connection transaction, String sql, String key) throws SQLException {
    try (PreparedStatement statement = transaction.prepareStatement(sql)) {
      statement.setString(1, table() + ' ' + key);
      return queryLong(statement, NONE) != NONE;
    }
  }

  @Override
  public boolean isTransient(SQLException e) {
    return hasClass(e, "40001", "40P01", "55P03");
  }

  /** An error that the server reported aborted the statement; these may be about the connection. */
  @Override
  public boolean isRefused(SQLException e) {
    String state = e.getSQLState();
    return state != null
        && state.length() == 5
        && !hasClass(e, "08", "40003", "57P", "58", "99", "F0", "XX", "00");
  }

  /** The transaction's own clock would stand still. */
  @Override
  String now() {
    return "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
  }

  @Override
  String updateUnlocked(String where, String set) {
    return "WITH mine AS (SELECT name AS mine_name FROM {table} WHERE "
        + where
        + " FOR UPDATE SKIP LOCKED) UPDATE {table} SET "
        + set
        + " FROM mine WHERE name = mine_name";
  }

  @Override
  String deleteUnlocked(String where) {
    return "WITH mine AS (SELECT name AS mine_name FROM {table} WHERE "
        + where
        + " FOR UPDATE SKIP LOCKED) DELETE FROM {table} USING mine WHERE name = mine_name";
  }

  /** The table's own, unless somebody made it otherwise: then this is right, and slow. */
  @Override
  String nameByBytes() {
    return "name COLLATE \"C\"";
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
