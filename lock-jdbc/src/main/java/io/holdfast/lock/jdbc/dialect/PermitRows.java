package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.List;

/**
 * The statements on semaphores. A semaphore has a row for each permit, which is taken, renewed and
 * guarded as a mutex's row is, and one row more: that of its line, under the semaphore's own key.
 * The line's row has the number of permits in {@code number}, the place of the last waiter that was
 * served, and counts in {@code guarded} how often the number was set. Each permit's row has the
 * number of permits in {@code served}, so that taking a free permit looks at one row only. Only
 * {@link #adopt} sets it, in all rows at once; until then nobody can take the permit of a new row.
 *
 * <p>The number of a grant, divided by {@value #STEP}, leaves its permit. So two permits never have
 * grants of the same number, and the number tells the permit.
 *
 * <p>Each method sends one statement, and none but {@link #handOver} and {@link #forceHandOver}
 * waits for a locked row: first for that of the permit, then for that of the line.
 *
 * <p>Threads: immutable, and safe for use by any number of threads.
 */
public final class PermitRows {
  /** The distance of two grant numbers of one permit: more than there are permits. */
  public static final int STEP = 1_024;

  /** The report of {@link #handOver} about a permit that nobody waited for. */
  public static final long FREED = 1;

  private final Dialect dialect;
  private final Sql acquire;
  private final Sql take;
  private final Sql handOver;
  private final Sql forceHandOver;
  private final Sql create;
  private final ListSql adopt;
  private final ListSql announce;

  public PermitRows(Dialect dialect) {
    this.dialect = dialect;
    String last = "GREATEST(number, " + dialect.takenAt() + ")";
    String next = last + " - " + last + " % " + STEP + " + " + STEP + " + number % " + STEP;
    acquire = dialect.sql(dialect
        .takeTemplate()
        .replace("{condition}", "wanted_until <= {now} AND served = :permits")
        .replace("{served}", "served")
        .replace("{next}", next));
    take = dialect.sql(dialect
        .takePermitTemplate()
        .replace("{first}", "NOT EXISTS (SELECT 1 " + Dialect.LINE + " AND a.place < :place)")
        .replace("{next}", next));
    handOver = dialect.sql(dialect
        .handOverPermitTemplate("p.owner = :owner AND p.number = :number")
        .replace("{next}", "number + " + STEP));
    forceHandOver = dialect.sql(dialect
        .handOverPermitTemplate("p.number = :number AND p.expires_at > {now}")
        .replace("{next}", "number + " + STEP));
    create = dialect.sql(dialect.createTemplate());
    adopt = dialect.listSql(dialect.adoptTemplate());
    announce = dialect.listSql(dialect.updateUnlocked(
        "name IN (:keys)", "wanted_until = GREATEST(wanted_until, {now} + {alive})"));
  }

  /**
   * Takes this permit if it is free, its semaphore has this number of permits, and nobody can be in
   * the line.
   *
   * @return the grant's number, or {@link Dialect#NONE}
   */
  public long acquire(Connection connection, Attempt attempt, int permits) throws SQLException {
    return dialect.unlessLocked(() -> {
      try (PreparedStatement statement = dialect.prepareToReport(connection, acquire)) {
        set(acquire, statement, attempt, permits);
        return dialect.reported(statement);
      }
    });
  }

  /**
   * Takes this permit if it is free, its semaphore has this number of permits, and nobody in the
   * line is before this place.
   *
   * @param line the stored name of the semaphore
   * @param place the waiter's place, or {@link Dialect#NO_PLACE} for a client that is not in the
   *     line
   * @return the grant's number, or {@link Dialect#NONE}
   */
  public long take(Connection connection, Attempt attempt, int permits, String line, long place)
      throws SQLException {
    try (PreparedStatement statement = dialect.prepareToReport(connection, take)) {
      set(take, statement, attempt, permits);
      take.set(statement, "line", line);
      take.set(statement, "place", place);
      take.set(statement, "served", place == Dialect.NO_PLACE ? 0 : place);
      return dialect.reported(statement);
    }
  }

  private static void set(Sql sql, PreparedStatement statement, Attempt attempt, int permits)
      throws SQLException {
    sql.set(statement, "key", attempt.key());
    sql.set(statement, "owner", attempt.owner());
    sql.set(statement, "ttl", attempt.ttlMicros());
    sql.set(statement, "holder", attempt.holder());
    sql.set(statement, "permits", permits);
  }

  /**
   * Hands a permit to the first in the line if the grant has it, or frees it if nobody waits. The
   * waiter's grant has the number {@link #numberAfter}.
   *
   * @param holdMicros the time for which it stays taken, in microseconds; unless it is zero, it is
   *     not handed over now
   * @return {@link Dialect#NONE} if the grant did not have it, {@link #FREED} if nobody has it now,
   *     and else {@link #FREED} plus the place of the waiter that has it
   */
  public long handOver(
      Connection connection, String key, String line, String owner, long number, long holdMicros)
      throws SQLException {
    return end(connection, handOver, key, line, owner, number, holdMicros);
  }

  /** Does {@link #handOver} for the grant of this number; returns whether it had the permit. */
  public boolean forceHandOver(Connection connection, String key, String line, long number)
      throws SQLException {
    return end(connection, forceHandOver, key, line, "", number, 0) != Dialect.NONE;
  }

  /** Returns the number of the grant that a permit is handed over with after this one. */
  public static long numberAfter(long number) {
    return number + STEP;
  }

  private long end(
      Connection connection,
      Sql sql,
      String key,
      String line,
      String owner,
      long number,
      long holdMicros)
      throws SQLException {
    try (PreparedStatement statement = dialect.prepareToReport(connection, sql)) {
      sql.set(statement, "key", key);
      sql.set(statement, "line", line);
      sql.set(statement, "owner", owner);
      sql.set(statement, "number", number);
      sql.set(statement, "hold", holdMicros);
      sql.set(statement, "inbox", dialect.inbox());
      return dialect.reported(statement);
    }
  }

  /** Adds the row of a permit, or of a line, whose permit counts as 0, unless it is there. */
  public boolean create(Connection connection, String key, int permit) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(create.text())) {
      create.set(statement, "key", key);
      create.set(statement, "number", permit);
      return statement.executeUpdate() > 0;
    } catch (SQLException e) {
      if (dialect.isDuplicate(e)) {
        return false;
      }
      throw e;
    }
  }

  /**
   * Sets the number of permits in the semaphore's row and in those of permits, if none of these is
   * held that was granted with another number, and nobody has set it since.
   *
   * @param keys the stored names of the semaphore and of all its permits whose rows were seen
   *     together with that version; if the number stays as it is, those of some will do
   * @param version {@link Row#guarded()} of the semaphore's row
   * @return the number of rows that were set
   */
  public int adopt(Connection connection, String line, List<String> keys, int permits, long version)
      throws SQLException {
    Sql sql = adopt.of(keys.size());
    try (PreparedStatement statement = connection.prepareStatement(sql.text())) {
      sql.set(statement, "line", line);
      sql.set(statement, "keys", keys);
      sql.set(statement, "permits", permits);
      sql.set(statement, "version", version);
      return statement.executeUpdate();
    }
  }

  /**
   * Records in these permits' rows that somebody waits, in free ones, too; returns the number of
   * rows. Locked rows are left alone.
   */
  public int announce(Connection connection, List<String> keys) throws SQLException {
    Sql sql = announce.of(keys.size());
    try (PreparedStatement statement = connection.prepareStatement(sql.text())) {
      sql.set(statement, "keys", keys);
      return statement.executeUpdate();
    }
  }
}
