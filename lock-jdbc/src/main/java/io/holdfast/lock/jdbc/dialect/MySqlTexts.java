package io.holdfast.lock.jdbc.dialect;

import java.util.concurrent.TimeUnit;

/** The texts for MySQL. */
sealed class MySqlTexts extends Texts permits MariaDbTexts {
  /** The beginning of a comment with hints for the server. */
  private static final String HINT = "/*+ ";

  /**
   * The assignments by which a claim takes a lock for which the condition holds. Of any other row
   * they set {@code wanted_until} only, and report {@link Protocol#TAKEN} (1) or
   * {@link Protocol#UNSURE} (2). They are made from left to right. The condition reads
   * {@code wanted_until} and {@code expires_at}, so they come last; and {@code wanted_until}
   * changes only where the condition is false anyway.
   */
  static final String TAKE_OR_TELL = """
      number = CASE WHEN {condition} THEN LAST_INSERT_ID(GREATEST(number + 1, {now}))
          WHEN LAST_INSERT_ID(IF(expires_at > {now}, 1, 2)) THEN number END,
        owner = IF({condition}, :owner, owner), holder = IF({condition}, :holder, holder),
        changed_at = IF({condition}, {now}, changed_at), wanted_until = {wanted},
        expires_at = IF({condition}, {now} + :ttl, expires_at)""";

  MySqlTexts(String table) {
    super(table);
  }

  @Override
  String template(Template template) {
    return switch (template) {
      case NOW -> "TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))";
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
      case UPDATE_ONE_WAITING -> "UPDATE {table} l SET {set} WHERE name = :key AND {condition}";
      case REPORT -> "LAST_INSERT_ID";
      // Fails at once if the row is locked: MySql.acquire then reports UNSURE. {condition} and
      // {wanted} are filled in by LockStatement.acquire.
      case ACQUIRE -> "UPDATE {table} SET " + TAKE_OR_TELL + """
           WHERE name = (SELECT name FROM (
            SELECT name FROM {table} WHERE name = :key FOR UPDATE NOWAIT) mine)
          """;
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
            SELECT name AS mine_name, GREATEST(number + 1, {now}) AS mine_number
            FROM {table} WHERE name = :key AND {condition} LIMIT 1 FOR UPDATE SKIP LOCKED
          ) mine LEFT JOIN (
            SELECT a.place AS next_place, a.owner AS next_owner, a.holder AS next_holder,
              a.mode AS next_mode
            FROM {table} b STRAIGHT_JOIN {waiters} a ON a.name = b.name AND a.place > b.served
            WHERE b.name = :key AND :hold = 0 AND {alive waiter}
            ORDER BY a.place LIMIT 1 {first}
          ) next ON TRUE STRAIGHT_JOIN {table} ON name = mine_name
          SET owner = IF(next_mode = 'r', '*', COALESCE(next_owner, '')),
            readers = IF(next_mode = 'r',
              CONCAT(next_owner, {now} + {handed}, mine_number, next_holder, ';'), readers),
            holder = COALESCE(next_holder, holder), served = COALESCE(next_place, served),
            number = IF(next_place IS NULL, number, mine_number),
            changed_at = IF(:hold = 0, {now}, changed_at),
            expires_at = IF(next_place IS NULL, IF(:hold = 0, 0, {now} + :hold), {now} + {handed}),
            wanted_until = IF(:hold = 0 AND next_place IS NULL, 0, wanted_until)
          """;
      case FIRST_OR_FAIL -> "FOR UPDATE OF b SKIP LOCKED FOR UPDATE OF a NOWAIT";
      case FIRST_UNLOCKED -> "FOR UPDATE OF b SKIP LOCKED FOR UPDATE OF a SKIP LOCKED";
      case JOIN -> """
          INSERT INTO {waiters} (name, owner, alive_until, holder, mode)
          VALUES (:key, :owner, {now} + {alive}, :holder, :mode)
          """;
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
      case TRY_WAITING -> """
          INSERT INTO {waiters} (name, owner, alive_until, holder)
          SELECT name, owner, 0, holder FROM {waiters} WHERE FALSE
          ON DUPLICATE KEY UPDATE alive_until = 0
          """;
    };
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
