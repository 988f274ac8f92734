package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;

/** H2 2.2.220 and later, for tests and demonstrations. */
public final class H2 extends Dialect {
  private static final int LOCKED = 50200;
  private static final int DEADLOCK = 40001;
  private static final int CONCURRENT_UPDATE = 90131;

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
      case UPDATE_ONE ->
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
                "\\{first (\\w+)}", "(SELECT a.$1 {line} AND {hold} = 0 ORDER BY a.place LIMIT 1)")
            .replace("{hold}", "CAST(:hold AS BIGINT)");
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
      case UNIQUE_KEYS -> """
          SELECT COUNT(*) FROM (
            SELECT MAX(c.index_name) FROM information_schema.index_columns c
            WHERE UPPER(c.table_schema) = UPPER(COALESCE(NULLIF(:schema, ''), CURRENT_SCHEMA))
              AND UPPER(c.table_name) = UPPER(:name) AND c.is_unique
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
