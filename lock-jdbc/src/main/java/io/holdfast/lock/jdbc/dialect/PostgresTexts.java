package io.holdfast.lock.jdbc.dialect;

/** The texts for PostgreSQL. */
final class PostgresTexts extends Texts {
  /**
   * One more column, that has the server end a session that does not commit within this time what
   * the statement did. A shorter time that the session has already stays.
   */
  private static final String BOUNDED = """
      , CASE WHEN current_setting('idle_in_transaction_session_timeout')::interval
          NOT BETWEEN '1 ms' AND '10 s'
        THEN set_config('idle_in_transaction_session_timeout', '10 s', true) END""";

  PostgresTexts(String table) {
    super(table);
  }

  @Override
  String template(Template template) {
    return switch (template) {
      // Not now(), which stands still within a transaction. And not extract(), whose numeric costs
      // more than this double, which has the microseconds until the next century.
      case NOW -> "(date_part('epoch', clock_timestamp()) * 1000000)::bigint";
      case LATE -> "0";
      // The collation that the script gives the column. In a table that was made differently, this
      // is still right, but slow.
      case NAME_BY_BYTES -> "name COLLATE \"C\"";
      // Not WITH, whose rows the server would keep aside first. To lock one row twice does no harm.
      case UPDATE_ONE -> """
          UPDATE {table} SET {set} FROM (
            SELECT name AS mine_name, {now} AS now{bounded} FROM {table} l
            WHERE name = :key AND {condition} FOR UPDATE SKIP LOCKED
          ) mine WHERE name = mine_name
          RETURNING {reported}
          """;
      case UPDATE_ONE_WAITING ->
        template(Template.UPDATE_ONE)
            .replace(" SKIP LOCKED", "")
            .replace(
                "{now} AS now",
                "{now} AS now, set_config('lock_timeout', '" + Template.ROW_WAIT_SECONDS
                    + "s', true)");
      case REPORT -> "";
      case ACQUIRE -> """
          WITH taken AS ({update})
          SELECT COALESCE((SELECT number FROM taken), (
            SELECT CASE WHEN expires_at > {now} THEN 1 ELSE 2 END FROM {table} WHERE name = :key
          ), 0)
          """.replace("{update}", template(Template.UPDATE_ONE));
      case INSERT -> """
          INSERT INTO {row}
          SELECT :key, :owner, now, now, now + :ttl, 0, 0, 0, :holder
          FROM (SELECT {now} AS now) clock
          ON CONFLICT (name) DO NOTHING
          RETURNING number{bounded}
          """;
      case RELEASE -> """
          UPDATE {table}
          SET owner = '', changed_at = CASE WHEN :hold = 0 THEN {now} ELSE changed_at END,
            expires_at = CASE WHEN :hold = 0 THEN 0 ELSE {now} + :hold END
          WHERE name = :key AND owner = :owner AND number = :number AND {unwanted}
          RETURNING 1,
            CASE WHEN expires_at = 0 THEN set_config('synchronous_commit', 'off', true) END{bounded}
          """;
      // Locks the lock's row first, then its first waiter's row; so a waiter that leaves is either
      // not found, or finds that it has the lock.
      case HAND_OVER -> """
          WITH mine AS (
            SELECT name AS mine_name, served AS mine_served, :hold::bigint AS hold,
              {now} AS now{bounded}
            FROM {table}
            WHERE name = :key AND {condition} FOR UPDATE SKIP LOCKED
          ), ended AS (
            UPDATE {table} l
            SET owner = CASE WHEN next_mode = 'r' THEN '*' ELSE COALESCE(next_owner, '') END,
              readers = CASE WHEN next_mode = 'r'
                THEN CONCAT(next_owner, now + {handed}, GREATEST(number + 1, now), next_holder, ';')
                ELSE readers END,
              holder = COALESCE(next_holder, holder), served = COALESCE(next_place, served),
              number = CASE WHEN next_place IS NULL THEN number ELSE GREATEST(number + 1, now) END,
              changed_at = CASE WHEN hold = 0 THEN now ELSE changed_at END,
              expires_at = CASE WHEN next_place IS NOT NULL THEN now + {handed}
                WHEN hold = 0 THEN 0 ELSE now + hold END,
              wanted_until =
                CASE WHEN hold = 0 AND next_place IS NULL THEN 0 ELSE wanted_until END
            FROM mine LEFT JOIN LATERAL (
              SELECT a.place AS next_place, a.owner AS next_owner, a.holder AS next_holder,
                a.inbox AS next_inbox, a.mode AS next_mode
              FROM {waiters} a
              WHERE a.name = mine_name AND a.place > mine_served AND hold = 0
                AND {alive waiter}
              ORDER BY a.place LIMIT 1 {first}
            ) next ON true
            WHERE l.name = mine_name
            RETURNING next_owner, next_inbox, next_mode, next_place, number, expires_at
          )
          SELECT 1,
            CASE WHEN :notify = 1 AND next_inbox IS NOT NULL
              THEN pg_notify('holdfast_' || next_inbox, CONCAT(next_owner, ' ', number, ' ', expires_at,
                CASE WHEN next_mode = 'r' THEN ' r' END))::text END,
            CASE WHEN :notify = 1 AND next_mode = 'r' THEN (
              SELECT COUNT(pg_notify('holdfast_' || a.inbox, a.owner)::text) FROM {waiters} a
              WHERE a.name = :key AND a.place > next_place AND a.mode = 'r' AND a.inbox IS NOT NULL
                AND {alive waiter} AND NOT EXISTS (
                  SELECT 1 FROM {waiters} b WHERE b.name = :key AND b.mode = 'w'
                    AND b.place BETWEEN next_place AND a.place
                    AND b.alive_until BETWEEN {now} AND {now} + {believed})) END,
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
          INSERT INTO {waiters} (name, owner, alive_until, holder, mode, inbox)
          VALUES (:key, :owner, {now} + {alive}, :holder, :mode, NULLIF(:inbox, ''))
          RETURNING place{bounded}
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
      case TRY_WAITING -> """
          WITH joined AS (
            INSERT INTO {waiters} (name, owner, alive_until, holder)
            SELECT :key, :owner, 0, :holder WHERE FALSE
          ), alive AS (UPDATE {waiters} SET alive_until = 0 WHERE FALSE)
          DELETE FROM {waiters} WHERE FALSE
          """;
    };
  }

  /** Reads the clock once, so that what is stored agrees with what is reported. */
  @Override
  String updateOne(Template template, String condition, String set, String reported) {
    return super.updateOne(
        template, condition, set.replace("{now}", "now"), reported.replace("{now}", "now"));
  }

  /** With {@code stringtype=unspecified}, the driver sends texts without a type. */
  @Override
  String text(String parameter) {
    return parameter + "::text";
  }

  @Override
  String notifyFirst(String condition, String more) {
    return """
        , CASE WHEN :notify = 1 AND NOT ({unwanted}) AND {condition} THEN (
            SELECT pg_notify('holdfast_' || inbox, CONCAT(owner, {more}))::text FROM (
              SELECT a.inbox, a.owner FROM {waiters} a
              WHERE a.name = mine_name AND a.place > served AND {alive waiter}
              ORDER BY a.place LIMIT 1) first
            WHERE inbox IS NOT NULL) END""".replace("{condition}", condition).replace("{more}", more);
  }

  @Override
  String unsynced() {
    return ", set_config('synchronous_commit', 'off', true)";
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
}
