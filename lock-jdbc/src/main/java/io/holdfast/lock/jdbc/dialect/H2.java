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

  private final Sql hold;
  private final Sql createRow;
  private final Sql lockRow;
  private final Sql selectRowNoWait;
  private final Sql leaveEntered;

  H2(String table) {
    super(table);
    hold = sql("""
            UPDATE {table} SET owner = '', expires_at = {now} + :hold
            WHERE name = :key AND owner = :owner AND number = :number
            """);
    createRow = sql("""
            INSERT INTO {table}
              (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder)
            VALUES (:key, '', 0, {now}, 0, 0, 0, 0, '')
            """);
    lockRow = sql("UPDATE {table} SET guarded = guarded + 1, changed_at = {now} WHERE name = :key");
    selectRowNoWait = sql("SELECT 1 FROM {table} WHERE name = :key FOR UPDATE NOWAIT");
    leaveEntered =
        sql("UPDATE {waiters} SET alive_until = 0 WHERE name = :line AND place = :place");
  }

  @Override
  String takeTemplate() {
    return """
        SELECT number FROM FINAL TABLE (
          UPDATE {table}
          SET number = {next}, owner = :owner, changed_at = {now},
            expires_at = {now} + :ttl, holder = :holder, served = {served}
          WHERE expires_at <= {now} AND name = (
            SELECT name FROM {table} l WHERE name = :key AND expires_at <= {now} AND {condition}
            FOR UPDATE SKIP LOCKED))
        """;
  }

  @Override
  String insertTemplate() {
    return """
        SELECT number FROM FINAL TABLE (
          INSERT INTO {table}
            (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder)
          VALUES (:key, :owner, {now}, {now}, {now} + :ttl, 0, 0, 0, :holder))
        """;
  }

  @Override
  String releaseTemplate() {
    return """
        UPDATE {table}
        SET owner = '',
          changed_at = CASE WHEN CAST(:hold AS BIGINT) = 0 THEN {now} ELSE changed_at END,
          expires_at = CASE WHEN CAST(:hold AS BIGINT) = 0 THEN 0 ELSE {now} + :hold END
        WHERE name = :key AND owner = :owner AND number = :number AND wanted_until <= {now}
        """;
  }

  @Override
  String extendTemplate() {
    return """
        SELECT expires_at - {now} FROM FINAL TABLE (
          UPDATE {table} SET expires_at = GREATEST(expires_at, {now} + :ttl)
          WHERE owner = :owner AND number = :number AND expires_at > {now} AND name = (
            SELECT name FROM {table}
            WHERE name = :key AND owner = :owner AND number = :number AND expires_at > {now}
            FOR UPDATE SKIP LOCKED))
        """;
  }

  @Override
  String handOverTemplate(String condition) {
    return """
        UPDATE {table} l
        SET owner = COALESCE({first owner}, ''), holder = COALESCE({first holder}, holder),
          served = COALESCE({first place}, served), changed_at = {now},
          number =
            CASE WHEN {first place} IS NULL THEN number ELSE GREATEST(number + 1, {now}) END,
          expires_at = CASE WHEN {first place} IS NULL THEN 0 ELSE {now} + {handed} END,
          wanted_until = CASE WHEN {first place} IS NULL THEN 0 ELSE wanted_until END
        WHERE name = :key AND {condition}
        """.replace("{condition}", condition)
        .replaceAll("\\{first (\\w+)}", "(SELECT a.$1 " + LINE + " ORDER BY a.place LIMIT 1)");
  }

  @Override
  String joinTemplate() {
    return """
        SELECT place FROM FINAL TABLE (
          INSERT INTO {waiters} (name, owner, alive_until, holder)
          VALUES (:key, :owner, {now} + {alive}, :holder))
        """;
  }

  @Override
  String acceptTemplate() {
    return """
        SELECT number FROM FINAL TABLE (
          UPDATE {table} SET expires_at = {now} + :ttl, holder = :holder
          WHERE name = :key AND owner = :owner AND expires_at > {now})
        """;
  }

  @Override
  String createTemplate() {
    return """
        INSERT INTO {table}
          (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder)
        VALUES (:key, '', :number, {now}, 0, 0, 0, 0, '')
        """;
  }

  @Override
  String takePermitTemplate() {
    return """
        SELECT number FROM FINAL TABLE (
          MERGE INTO {table} USING (
            SELECT s.name AS free_name, l.name AS line_name FROM {table} l JOIN {table} s
              ON s.name = :key
            WHERE l.name = :line AND l.served < :place
              AND s.expires_at <= {now} AND s.served = :permits AND {first}
            FOR UPDATE SKIP LOCKED
          ) free ON name = free_name OR name = line_name
          WHEN MATCHED THEN UPDATE
          SET number = CASE WHEN name = free_name THEN {next} ELSE number END,
            owner = CASE WHEN name = free_name THEN :owner ELSE owner END,
            changed_at = {now},
            expires_at = CASE WHEN name = free_name THEN {now} + :ttl ELSE expires_at END,
            holder = CASE WHEN name = free_name THEN :holder ELSE holder END,
            served = CASE WHEN name = free_name THEN served ELSE GREATEST(served, :served) END
        ) WHERE name = :key
        """;
  }

  @Override
  String handOverPermitTemplate(String condition) {
    return """
        SELECT CASE WHEN MAX(CASE WHEN name = :key THEN owner ELSE '' END) = '' THEN 1
          ELSE MAX(CASE WHEN name = :line THEN served ELSE 0 END) + 1 END
        FROM FINAL TABLE (
          MERGE INTO {table} USING (
            SELECT p.name AS mine_name, l.name AS line_name, CAST(:hold AS BIGINT) AS hold,
              {first place} AS next_place, {first owner} AS next_owner,
              {first holder} AS next_holder
            FROM {table} p LEFT JOIN {table} l ON l.name = :line
            WHERE p.name = :key AND {condition}
            FOR UPDATE
          ) mine ON name = mine_name OR name = line_name
          WHEN MATCHED THEN UPDATE
          SET owner = CASE WHEN name = mine_name THEN COALESCE(next_owner, '') ELSE owner END,
            holder = CASE WHEN name = mine_name THEN COALESCE(next_holder, holder) ELSE holder END,
            number = CASE WHEN name = mine_name AND next_place IS NOT NULL
              THEN {next} ELSE number END,
            served = CASE WHEN name = mine_name THEN served ELSE COALESCE(next_place, served) END,
            changed_at = CASE WHEN next_place IS NOT NULL OR (name = mine_name AND hold = 0)
              THEN {now} ELSE changed_at END,
            expires_at = CASE WHEN name <> mine_name THEN expires_at
              WHEN next_place IS NOT NULL THEN {now} + {handed}
              WHEN hold = 0 THEN 0 ELSE {now} + hold END,
            wanted_until = CASE WHEN name = mine_name AND hold = 0 AND next_place IS NULL
              THEN 0 ELSE wanted_until END
        )
        """.replace("{condition}", condition).replaceAll(
        "\\{first (\\w+)}",
        "CASE WHEN CAST(:hold AS BIGINT) = 0 THEN (SELECT a.$1 " + LINE
            + " ORDER BY a.place LIMIT 1) END");
  }

  /** {@link #leaveEntered} does the rest. */
  @Override
  String followTemplate(String condition) {
    return enterTemplate("EXISTS (SELECT 1 FROM {waiters} w WHERE w.name = l.name"
        + " AND w.place = :place AND w.alive_until > 0) AND " + condition);
  }

  @Override
  void leaveEntered(Connection connection, String line, long place) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(leaveEntered.text())) {
      leaveEntered.set(statement, "line", line);
      leaveEntered.set(statement, "place", place);
      statement.executeUpdate();
    }
  }

  @Override
  String enterTemplate(String condition) {
    return """
        SELECT number FROM FINAL TABLE (
          MERGE INTO {table} USING (
            SELECT s.name AS free_name, l.name AS line_name,
              GREATEST(l.number + 1, {now}) AS next,
              CASE WHEN l.owner = '{readers}' AND l.expires_at > {now}
                THEN l.guarded + 1 ELSE GREATEST(l.number + 1, {now}) * {step} + 1 END AS readers
            FROM {table} l JOIN {table} s ON s.name = :key
            WHERE l.name = :line AND s.expires_at <= {now} AND {condition}
            FOR UPDATE SKIP LOCKED
          ) free ON name = free_name OR name = line_name
          WHEN MATCHED THEN UPDATE
          SET number = next,
            owner = CASE WHEN name = free_name THEN :owner ELSE '{readers}' END,
            changed_at = {now},
            expires_at = GREATEST(expires_at, {now} + :ttl),
            holder = :holder,
            guarded = CASE WHEN name = free_name THEN guarded ELSE readers END
        ) WHERE name = :key
        """.replace("{condition}", condition);
  }

  @Override
  String exitTemplate(String condition) {
    return """
        SELECT CASE WHEN owner = '{readers}' AND guarded % {step} = 0 THEN 2 ELSE 1 END FROM FINAL TABLE (
          MERGE INTO {table} USING (
            SELECT s.name AS mine_name, l.name AS line_name,
              CAST(:hold AS BIGINT) AS hold,
              l.guarded % {step} = 1 AND CAST(:hold AS BIGINT) = 0 AS is_last,
              l.wanted_until > {now} AS is_wanted
            FROM {table} l JOIN {table} s ON s.name = :key
            WHERE l.name = :line AND l.owner = '{readers}' AND s.expires_at > {now} AND {condition}
            FOR UPDATE
          ) mine ON name = mine_name OR name = line_name
          WHEN MATCHED THEN UPDATE
          SET guarded = CASE WHEN name = mine_name OR hold > 0 THEN guarded ELSE guarded - 1 END,
            owner =
              CASE WHEN name = mine_name OR (is_last AND NOT is_wanted) THEN '' ELSE owner END,
            changed_at = CASE WHEN is_last OR (name = mine_name AND hold = 0)
              THEN {now} ELSE changed_at END,
            expires_at = CASE
              WHEN name = mine_name THEN CASE WHEN hold = 0 THEN 0 ELSE {now} + hold END
              WHEN is_last AND NOT is_wanted THEN 0
              WHEN hold = 0 THEN expires_at ELSE GREATEST(expires_at, {now} + hold) END
        ) WHERE name = :line
        """.replace("{condition}", condition);
  }

  @Override
  String countOverTemplate() {
    return """
        SELECT COUNT(*) FROM (
          SELECT s.name FROM {table} s
          WHERE s.name IN (:keys) AND s.expires_at <= {now} FOR UPDATE SKIP LOCKED
        ) ended
        """;
  }

  @Override
  String adoptTemplate() {
    return """
        MERGE INTO {table} USING (
          SELECT locked_name FROM (
            SELECT locked_name, SUM(CASE WHEN until > {now} AND permits <> :permits THEN 1 ELSE 0 END)
              OVER () AS others
            FROM (
              SELECT s.name AS locked_name, s.expires_at AS until, s.served AS permits
              FROM {table} l JOIN {table} s ON s.name IN (:keys)
              WHERE l.name = :line AND l.guarded = :version
              FOR UPDATE NOWAIT
            ) locked
          ) counted WHERE others = 0
        ) line ON name = locked_name
        WHEN MATCHED THEN UPDATE
        SET number = CASE WHEN name = :line THEN :permits ELSE number END,
          changed_at = CASE WHEN name = :line THEN {now} ELSE changed_at END,
          guarded = CASE WHEN name = :line THEN guarded + 1 ELSE guarded END,
          served = CASE WHEN name = :line THEN served ELSE :permits END
        """;
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
      return queryLong(statement) > 0 ? null : "it has no unique key on the column name";
    }
  }

  @Override
  public boolean isExactNameType(String typeName) {
    return typeName.equalsIgnoreCase("BINARY VARYING") || typeName.equalsIgnoreCase("VARBINARY");
  }

  /** Uses a statement of its own for a lock that stays taken, since nobody gets it then. */
  @Override
  public boolean handOver(
      Connection connection, String key, String owner, long number, long holdMicros)
      throws SQLException {
    return holdMicros > 0
        ? end(connection, hold, key, owner, number, holdMicros)
        : super.handOver(connection, key, owner, number, holdMicros);
  }

  @Override
  public void lockRow(Connection transaction, String key) throws SQLException {
    while (update(transaction, lockRow, key) == 0) {
      try {
        update(transaction, createRow, key);
        return;
      } catch (SQLException e) {
        if (!isDuplicate(e)) {
          throw e;
        }
      }
    }
  }

  @Override
  public boolean tryLockRow(Connection transaction, String key) throws SQLException {
    try {
      query(transaction, selectRowNoWait, key);
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
  boolean isDuplicate(SQLException e) {
    return e.getErrorCode() == DUPLICATE;
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

  /** Uses MERGE, since H2 would run the inner query of an update once for each row. */
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
