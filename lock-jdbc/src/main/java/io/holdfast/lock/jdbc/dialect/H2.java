package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** H2 2.2.220 and later, for tests and demonstrations. */
public final class H2 extends Dialect {
  private static final int DUPLICATE = 23505;

  private static final int LOCKED = 50200;
  private static final int DEADLOCK = 40001;
  private static final int CONCURRENT_UPDATE = 90131;

  private static final Set<Integer> TRANSIENT = Set.of(LOCKED, DEADLOCK, CONCURRENT_UPDATE);

  private final String acquire;
  private final String insert;
  private final String release;
  private final String hold;
  private final String handOver;
  private final String join;
  private final String accept;
  private final String take;
  private final String extend;
  private final String withdraw;
  private final String forceRelease;
  private final String createRow;
  private final String lockRow;
  private final String selectRowNoWait;

  H2(String table) {
    super(table);
    acquire = taking("wanted_until <= {now}", "served");
    take = taking(
        "served < ? AND NOT EXISTS (SELECT 1 " + LINE + " AND a.place < ?)", "GREATEST(served, ?)");
    insert = sql("""
            SELECT number FROM FINAL TABLE (
              INSERT INTO {table}
                (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder)
              VALUES (?, ?, {now}, {now}, {now} + ?, 0, 0, 0, ?))
            """);
    release = sql("""
            UPDATE {table}
            SET owner = '',
              changed_at = CASE WHEN CAST(? AS BIGINT) = 0 THEN {now} ELSE changed_at END,
              expires_at = CASE WHEN CAST(? AS BIGINT) = 0 THEN 0 ELSE {now} + ? END
            WHERE name = ? AND owner = ? AND number = ? AND wanted_until <= {now}
            """);
    hold = sql("""
            UPDATE {table} SET owner = '', expires_at = {now} + ?
            WHERE name = ? AND owner = ? AND number = ?
            """);
    handOver = handingOver("owner = ? AND number = ?");
    withdraw = handingOver("owner = ?");
    forceRelease = handingOver("number = ? AND expires_at > {now}");
    join = sql("""
        SELECT place FROM FINAL TABLE (
          INSERT INTO {waiters} (name, owner, alive_until, holder)
          VALUES (?, ?, {now} + {alive}, ?))
        """.replace("{alive}", String.valueOf(ALIVE_MICROS)));
    accept = sql("""
            SELECT number FROM FINAL TABLE (
              UPDATE {table} SET expires_at = {now} + ?, holder = ?
              WHERE name = ? AND owner = ? AND expires_at > {now})
            """);
    extend = sql("""
            SELECT expires_at - {now} FROM FINAL TABLE (
              UPDATE {table} SET expires_at = GREATEST(expires_at, {now} + ?)
              WHERE owner = ? AND number = ? AND expires_at > {now} AND name = (
                SELECT name FROM {table}
                WHERE name = ? AND owner = ? AND number = ? AND expires_at > {now}
                FOR UPDATE SKIP LOCKED))
            """);
    createRow = sql("""
            INSERT INTO {table}
              (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder)
            VALUES (?, '', 0, {now}, 0, 0, 0, 0, '')
            """);
    lockRow = sql("UPDATE {table} SET guarded = guarded + 1, changed_at = {now} WHERE name = ?");
    selectRowNoWait = sql("SELECT 1 FROM {table} WHERE name = ? FOR UPDATE NOWAIT");
  }

  /** Takes the lock if it is free and the condition holds, and nobody has its row locked. */
  private String taking(String condition, String served) {
    return sql("""
        SELECT number FROM FINAL TABLE (
          UPDATE {table}
          SET number = GREATEST(number + 1, {now}), owner = ?, changed_at = {now},
            expires_at = {now} + ?, holder = ?, served = {served}
          WHERE expires_at <= {now} AND name = (
            SELECT name FROM {table} l WHERE name = ? AND expires_at <= {now} AND {condition}
            FOR UPDATE SKIP LOCKED))
        """.replace("{condition}", condition).replace("{served}", served));
  }

  /** Hands a row for which the condition holds to the first in its line, or frees it. */
  private String handingOver(String condition) {
    return sql("""
        UPDATE {table} l
        SET owner = COALESCE({first owner}, ''), holder = COALESCE({first holder}, holder),
          served = COALESCE({first place}, served), changed_at = {now},
          number =
            CASE WHEN {first place} IS NULL THEN number ELSE GREATEST(number + 1, {now}) END,
          expires_at = CASE WHEN {first place} IS NULL THEN 0 ELSE {now} + {handed} END,
          wanted_until = CASE WHEN {first place} IS NULL THEN 0 ELSE wanted_until END
        WHERE name = ? AND {condition}
        """.replace("{handed}", String.valueOf(HANDED_OVER_MICROS))
        .replace("{condition}", condition)
        .replaceAll("\\{first (\\w+)}", "(SELECT a.$1 " + LINE + " ORDER BY a.place LIMIT 1)"));
  }

  @Override
  public String database() {
    return "H2";
  }

  @Override
  public String script() {
    return "h2.sql";
  }

  @Override
  public @Nullable String flaw(Connection connection) throws SQLException {
    int dot = table().indexOf('.');
    String schema =
        dot < 0 ? connection.getSchema() : table().substring(0, dot).toUpperCase(Locale.ROOT);
    try (PreparedStatement statement = connection.prepareStatement("""
            SELECT COUNT(*) FROM (
              SELECT MAX(c.index_name) FROM information_schema.index_columns c
              WHERE UPPER(c.table_schema) = UPPER(?) AND UPPER(c.table_name) = UPPER(?)
                AND c.is_unique
              GROUP BY c.index_schema, c.index_name
              HAVING COUNT(*) = 1 AND UPPER(MAX(c.column_name)) = 'NAME')
            """)) {
      statement.setString(1, schema);
      statement.setString(2, table().substring(dot + 1));
      return queryLong(statement, 0) > 0 ? null : "it has no unique key on the column name";
    }
  }

  @Override
  public boolean isExactNameType(String typeName) {
    return typeName.equalsIgnoreCase("BINARY VARYING") || typeName.equalsIgnoreCase("VARBINARY");
  }

  @Override
  public long acquire(Connection connection, Attempt attempt) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(acquire)) {
      statement.setString(1, attempt.owner());
      statement.setLong(2, attempt.ttlMicros());
      statement.setString(3, attempt.holder());
      setKey(statement, 4, attempt.key());
      return queryLong(statement, NONE);
    }
  }

  @Override
  public long take(Connection connection, Attempt attempt, long place) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(take)) {
      statement.setString(1, attempt.owner());
      statement.setLong(2, attempt.ttlMicros());
      statement.setString(3, attempt.holder());
      statement.setLong(4, served(place));
      setKey(statement, 5, attempt.key());
      statement.setLong(6, place);
      statement.setLong(7, place);
      return queryLong(statement, NONE);
    }
  }

  @Override
  public long insert(Connection connection, Attempt attempt) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(insert)) {
      setKey(statement, 1, attempt.key());
      statement.setString(2, attempt.owner());
      statement.setLong(3, attempt.ttlMicros());
      statement.setString(4, attempt.holder());
      return queryLong(statement, NONE);
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
    boolean held = holdMicros > 0;
    try (PreparedStatement statement = connection.prepareStatement(held ? hold : handOver)) {
      int next = 1;
      if (held) {
        statement.setLong(next++, holdMicros);
      }
      setKey(statement, next, key);
      statement.setString(next + 1, owner);
      statement.setLong(next + 2, number);
      return statement.executeUpdate() > 0;
    }
  }

  @Override
  public long join(Connection connection, Attempt attempt) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(join)) {
      setKey(statement, 1, attempt.key());
      statement.setString(2, attempt.owner());
      statement.setString(3, attempt.holder());
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
      statement.setLong(1, ttlMicros);
      statement.setString(2, owner);
      statement.setLong(3, number);
      setKey(statement, 4, key);
      statement.setString(5, owner);
      statement.setLong(6, number);
      return queryLong(statement, NONE);
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
    while (true) {
      try (PreparedStatement statement = transaction.prepareStatement(lockRow)) {
        setKey(statement, 1, key);
        if (statement.executeUpdate() > 0) {
          return;
        }
      }
      try (PreparedStatement statement = transaction.prepareStatement(createRow)) {
        setKey(statement, 1, key);
        statement.executeUpdate();
        return;
      } catch (SQLException e) {
        if (e.getErrorCode() != DUPLICATE) {
          throw e;
        }
      }
    }
  }

  @Override
  public boolean tryLockRow(Connection transaction, String key) throws SQLException {
    try (PreparedStatement statement = transaction.prepareStatement(selectRowNoWait)) {
      setKey(statement, 1, key);
      statement.executeQuery().close();
    } catch (SQLException e) {
      if (e.getErrorCode() == LOCKED) {
        return false;
      }
      throw e;
    }
    lockRow(transaction, key);
    return true;
  }

  @Override
  public boolean isTransient(SQLException e) {
    return TRANSIENT.contains(e.getErrorCode());
  }

  @Override
  public boolean isRefused(SQLException e) {
    return isTransient(e) || hasClass(e, "22", "23", "42");
  }

  @Override
  String now() {
    return "CAST(EXTRACT(EPOCH FROM CURRENT_TIMESTAMP) * 1000000 AS BIGINT)";
  }

  /** A MERGE, since for an update H2 would run the inner query once for each row. */
  @Override
  String updateUnlocked(String where, String set) {
    return mergeUnlocked(where) + " UPDATE SET " + set;
  }

  @Override
  String deleteUnlocked(String where) {
    return mergeUnlocked(where) + " DELETE";
  }

  private static String mergeUnlocked(String where) {
    return "MERGE INTO {table} USING (SELECT name AS mine_name FROM {table} WHERE "
        + where
        + " FOR UPDATE SKIP LOCKED) mine ON name = mine_name WHEN MATCHED THEN";
  }
}
