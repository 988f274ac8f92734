package io.holdfast.lock.jdbc.dialect;

/** The texts for H2. */
final class H2Texts extends Texts {
  H2Texts(String table) {
    super(table);
  }

  @Override
  String template(Template template) {
    return switch (template) {
      case NOW -> "CAST(EXTRACT(EPOCH FROM CURRENT_TIMESTAMP) * 1000000 AS BIGINT)";
      case LATE -> "0";
      case NAME_BY_BYTES -> "name";
      case UPDATE_ONE, ACQUIRE ->
        "SELECT {reported} FROM FINAL TABLE (UPDATE {table} l SET {set} WHERE "
            + unlocked("{condition}")
            + ")";
      case UPDATE_ONE_WAITING -> """
          SELECT {reported} FROM FINAL TABLE (
            UPDATE {table} l SET {set} WHERE name = :key AND {condition})
          """;
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
          SET owner = CASE WHEN {first mode} = 'r' THEN '*' ELSE COALESCE({first owner}, '') END,
            readers = CASE WHEN {first mode} = 'r' THEN CONCAT({first owner}, {now} + {handed},
                GREATEST(number + 1, {now}), {first holder}, ';')
              ELSE readers END,
            holder = COALESCE({first holder}, holder), served = COALESCE({first place}, served),
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
            INSERT INTO {waiters} (name, owner, alive_until, holder, mode)
            VALUES (:key, :owner, {now} + {alive}, :holder, :mode))
          """;
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
      case TRY_WAITING -> "DELETE FROM {waiters} WHERE name = :key AND owner = :owner";
    };
  }

  /** The condition for the row of one name that fulfils this condition and is not locked. */
  private static String unlocked(String condition) {
    return condition
        + " AND name = (SELECT name FROM {table} l WHERE name = :key AND "
        + condition
        + " FOR UPDATE SKIP LOCKED)";
  }
}
