package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;

/** H2 2.2.220 and later, for tests and demonstrations. */
public final class H2 extends Dialect {
  private static final int LOCKED = 50200;
  private static final int DEADLOCK = 40001;
  private static final int CONCURRENT_UPDATE = 90131;

  private final Sql whyNotAcquired = new Sql(
      this, "SELECT CASE WHEN expires_at > {now} THEN 1 ELSE 2 END FROM {table} WHERE name = :key");

  H2(String table) {
    super(table, "H2", connection -> false);
  }

  @Override
  String template(Template template) {
    return switch (template) {
      case NOW -> "CAST(EXTRACT(EPOCH FROM CURRENT_TIMESTAMP) * 1000000 AS BIGINT)";
      case NAME_TYPES -> "binary varying|varbinary";
      case LATE -> "0";
      case NAME_BY_BYTES -> "name";
      case UPDATE_ONE, ACQUIRE ->
        "SELECT {reported} FROM FINAL TABLE (UPDATE {table} l SET {set} WHERE "
            + unlocked("{condition}")
            + ")";
      case REPORT -> "";
      case INSERT -> """
          SELECT number FROM FINAL TABLE (
            INSERT INTO {row}
            VALUES (:key, :owner, {now}, {now}, {now} + :ttl, 0, 0, 0, :holder))
          """;
      case RELEASE ->
        """
          UPDATE {table}
          SET owner = '',
            changed_at = CASE WHEN CAST(:hold AS BIGINT) = 0 THEN {now} ELSE changed_at END,
            expires_at = CASE WHEN CAST(:hold AS BIGINT) = 0 THEN 0 ELSE {now} + :hold END
          WHERE {unlocked}
          """.replace("{unlocked}", unlocked("owner = :owner AND number = :number AND {unwanted}"));
      // Locks the waiters' rows, and waits for them where others would fail or pass over; so one
      // that leaves is either not found, or finds that it has the lock.
      case HAND_OVER ->
        """
          UPDATE {table} l
          SET owner = COALESCE({first owner}, ''), holder = COALESCE({first holder}, holder),
            served = COALESCE({first place}, served),
            number =
              CASE WHEN {first place} IS NULL THEN number ELSE GREATEST(number + 1, {now}) END,
            changed_at = CASE WHEN {hold} = 0 THEN {now} ELSE changed_at END,
            expires_at = CASE WHEN {first place} IS NOT NULL THEN {now} + {handed}
              WHEN {hold} = 0 THEN 0 ELSE {now} + {hold} END,
            wanted_until =
              CASE WHEN {hold} = 0 AND {first place} IS NULL THEN 0 ELSE wanted_until END
          WHERE {unlocked}
          """.replace("{unlocked}", unlocked("{condition}"))
            .replaceAll(
                "\\{first (\\w+)}",
                "(SELECT a.$1 {line} AND {hold} = 0 ORDER BY a.place LIMIT 1 FOR UPDATE)")
            .replace("{hold}", "CAST(:hold AS BIGINT)");
      case FIRST_OR_FAIL, FIRST_UNLOCKED -> "";
      case JOIN -> """
          SELECT place FROM FINAL TABLE (
            INSERT INTO {waiters} (name, owner, alive_until, holder)
            VALUES (:key, :owner, {now} + {alive}, :holder))
          """;
      case SCHEMA -> "SELECT QUOTE_IDENT(CURRENT_SCHEMA)";
      case ON_CONFLICT -> "";
      case UNLOCKED -> "SELECT name AS mine_name FROM {table} WHERE {where} FOR UPDATE SKIP LOCKED";
      // A MERGE, since H2 would run the inner query of an update once for each row.
      case UPDATE_UNLOCKED -> """
          MERGE INTO {table} USING ({unlocked}) mine ON name = mine_name
          WHEN MATCHED THEN UPDATE SET {set}
          """;
      case DELETE_UNLOCKED -> """
          MERGE INTO {table} USING ({unlocked}) mine ON name = mine_name
          WHEN MATCHED THEN DELETE
          """;
      case FACTS -> "0 AS holdfast_facts";
      case OWN_SCHEMA -> "CURRENT_SCHEMA";
      // The column may be of another type, which is a flaw, and no failure.
      case VERSION -> "CAST(l.name AS VARBINARY) = X'76657273696f6e'";
      case TRY_WAITING -> "DELETE FROM {waiters} WHERE name = :key AND owner = :owner";
      case UNIQUE_KEYS -> """
          SELECT COUNT(*) FROM (
            SELECT MAX(c.index_name) FROM information_schema.index_columns c
            WHERE UPPER(c.table_schema) = UPPER({in schema})
              AND UPPER(c.table_name) = UPPER({in table}) AND c.is_unique
            GROUP BY c.index_schema, c.index_name
            HAVING COUNT(*) = 1 AND UPPER(MAX(c.column_name)) = 'NAME')
          """;
    };
  }

  /** The condition for the row of one name that fulfils this condition and is not locked. */
  private static String unlocked(String condition) {
    return condition
        + " AND name = (SELECT name FROM {table} l WHERE name = :key AND "
        + condition
        + " FOR UPDATE SKIP LOCKED)";
  }

  /** Runs up to two statements, since there is no network in between. */
  @Override
  long acquire(Connection connection, Sql sql, Map<String, ?> values) throws SQLException {
    long number = super.acquire(connection, sql, values);
    return number == NONE ? query(connection, whyNotAcquired, values) : number;
  }

  /** Runs two statements, as {@link #acquire} does. */
  @Override
  public long join(Connection connection, StoredClaim claim) throws SQLException {
    announce(connection, List.of(claim.key()));
    return super.join(connection, claim);
  }

  @Override
  public void checkServer(ResultSet answer) {}

  /** Waits for a moment. */
  @Override
  public void tryWaiting(Connection connection, StoredClaim claim) throws SQLException {
    join(connection, claim);
    keepAlive(connection, List.of(claim));
    super.tryWaiting(connection, claim);
  }

  @Override
  public void lockRow(Connection transaction, String key) throws SQLException {
    Map<String, ?> values = Map.of("key", key);
    if (update(transaction, touchRow, values) == 0) {
      try {
        update(transaction, createRow, values);
      } catch (SQLException e) {
        // A row that is there and is still not seen is newer than the transaction's snapshot.
        if (failure(e) != Failure.DUPLICATE || update(transaction, touchRow, values) == 0) {
          throw e;
        }
      }
    }
  }

  @Override
  public boolean tryLockRow(Connection transaction, String key) throws SQLException {
    return lockIfFree(transaction, key, LOCKED);
  }

  @Override
  public Failure failure(SQLException e) {
    return switch (e.getErrorCode()) {
      case LOCKED, DEADLOCK, CONCURRENT_UPDATE -> Failure.TRANSIENT;
      case 23505 -> Failure.DUPLICATE;
      case 42000, 42001 -> Failure.SYNTAX_ERROR;
      default -> hasClass(e, "22", "23", "42") ? Failure.REFUSED : Failure.UNKNOWN;
    };
  }
}
