package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.List;

/**
 * The statements on read locks. Each reader of a lock has a place, which is a row of its own with
 * its owner id, its number and its end. While readers have the lock, its own row shows
 * {@link Row#isRead}, and is taken for at least as long as each of them: so whoever knows only that
 * row, a client of an earlier version too, finds the lock taken by somebody else.
 *
 * <p>The lock's row has in {@code guarded} the number of the first grant since there were none,
 * times {@value #STEP}, plus the number of readers since then that have not left. A reader that
 * crashed stays counted. One that was over when that began, and leaves late, does not count, even
 * if the database's clock was set back.
 *
 * <p>Each statement that takes a place, or lets one end later, takes the lock's row along or leaves
 * the place within the end of that row. The lock's row ends earlier only when the count of those
 * that have not left falls to zero, or when all places are seen to be over while they are locked.
 *
 * <p>Each method sends one statement. Those that free something wait for locked rows:
 * {@link #exit}, {@link #handOver} and {@link #settle}.
 *
 * <p>Threads: immutable, and safe for use by any number of threads.
 */
public final class ReaderRows {
  /** The report of {@link #exit} about the last reader, if somebody may be in the line. */
  public static final long LAST_AND_WANTED = 2;

  /** One more than the most readers that can be counted. */
  static final int STEP = 1_024;

  private static final String OPEN = "(l.expires_at <= {now} OR (l.owner = '"
      + Dialect.READERS
      + "' AND l.guarded % {step} < {step} - 1)) AND ";

  /** The condition for a place that was taken since the lock was last free of readers. */
  private static final String COUNTED = " AND s.number * {step} + {step} > l.guarded";

  /** Stands for no names, since a list in SQL can't be empty; no row has it. */
  private static final List<String> NO_PLACES = List.of("");

  private final Dialect dialect;
  private final Sql enter;
  private final Sql follow;
  private final ListSql lookAtLine;
  private final Sql exit;
  private final Sql create;
  private final Sql places;
  private final Sql handOver;
  private final ListSql settle;
  private final ListSql renewLocks;
  private final ListSql renewPlaces;

  public ReaderRows(Dialect dialect) {
    this.dialect = dialect;
    String writers = "(SELECT 1 " + Dialect.LINE + " AND " + Dialect.WRITES;
    enter = dialect.sql(
        dialect.enterTemplate(OPEN + "(l.wanted_until <= {now} OR NOT EXISTS " + writers + "))"));
    follow = dialect.sql(
        dialect.followTemplate("((l.owner = :waiter AND l.expires_at > {now} + {late}) OR ("
            + OPEN
            + "l.served < :place AND NOT EXISTS "
            + writers
            + " AND a.place < :place)))"));
    lookAtLine = dialect.lookAtLineSql(Dialect.LINE + " AND " + Dialect.WRITES);
    exit = dialect.sql(dialect.exitTemplate("s.owner = :owner AND s.number = :number" + COUNTED));
    create = dialect.sql(dialect.createTemplate());
    String key = dialect.nameByBytes();
    places = dialect.sql(
        Row.SELECT + " FROM {table} l WHERE " + key + " >= :from AND " + key + " < :below");
    String read = "owner = '" + Dialect.READERS + "' AND ";
    handOver = dialect.sql(dialect.handOverTemplate(read + "guarded % {step} = 0"));
    settle = dialect.listSql(dialect.handOverTemplate(
        read + "number = :number AND (" + dialect.countOverTemplate() + ") = :count"));
    renewLocks = dialect.listSql(dialect.updateUnlocked(
        "name IN (:keys) AND " + read + "expires_at > {now} + {late}",
        "expires_at = GREATEST(expires_at, {now} + :ttl)"));
    renewPlaces = dialect.listSql(dialect.updateUnlocked(
        "name IN (:keys) AND owner IN (:owners) AND expires_at > {now} + {late}",
        "expires_at = GREATEST(expires_at, LEAST({now} + :ttl, :until))"));
  }

  /**
   * Takes a place if it is free, no writer has the lock, and none is in the line.
   *
   * @param attempt the values to write; its key is that of the place
   * @param lock the stored name of the lock
   * @return the grant's number, or {@link Dialect#NONE}
   */
  public long enter(Connection connection, Attempt attempt, String lock) throws SQLException {
    return enter(connection, enter, attempt, lock, "", Dialect.NO_PLACE);
  }

  /**
   * Takes a place for a waiter if it is free, and the lock was handed over to the waiter, or no
   * writer has the lock and none is before the waiter in the line; the waiter is in the line no
   * more then. Readers before it stay there.
   *
   * @param owner the owner id that it has in the line
   * @param waiter its place in the line
   */
  public long follow(Connection connection, Attempt attempt, String lock, String owner, long waiter)
      throws SQLException {
    long number = enter(connection, follow, attempt, lock, owner, waiter);
    if (number != Dialect.NONE) {
      dialect.leaveEntered(connection, lock, waiter);
    }
    return number;
  }

  private long enter(
      Connection connection, Sql sql, Attempt attempt, String lock, String owner, long waiter)
      throws SQLException {
    try (PreparedStatement statement = dialect.prepareToReport(connection, sql)) {
      sql.set(statement, "key", attempt.key());
      sql.set(statement, "line", lock);
      sql.set(statement, "owner", attempt.owner());
      sql.set(statement, "ttl", attempt.ttlMicros());
      sql.set(statement, "holder", attempt.holder());
      sql.set(statement, "waiter", owner);
      sql.set(statement, "place", waiter);
      return dialect.reported(statement);
    }
  }

  /** Does {@link Dialect#lookAtLine} for readers: only waiting writers are ahead of them. */
  public List<Standing> lookAtLine(Connection connection, List<String> locks, List<String> owners)
      throws SQLException {
    return dialect.lookAtLine(connection, lookAtLine, locks, owners);
  }

  /**
   * Frees a place if the grant has it and its time is not over; frees the lock, too, if that was
   * the last reader and nobody can be in the line.
   *
   * @param holdMicros the time for which the place stays taken, in microseconds
   * @return {@link Dialect#NONE} if nothing was freed; {@link #LAST_AND_WANTED} if
   *     {@link #handOver} is to be called
   */
  public long exit(
      Connection connection, String place, String lock, String owner, long number, long holdMicros)
      throws SQLException {
    try (PreparedStatement statement = dialect.prepareToReport(connection, exit)) {
      exit.set(statement, "key", place);
      exit.set(statement, "line", lock);
      exit.set(statement, "owner", owner);
      exit.set(statement, "number", number);
      exit.set(statement, "hold", holdMicros);
      return dialect.reported(statement);
    }
  }

  /** Adds a free row of this name, unless there is one; returns whether there was none. */
  public boolean create(Connection connection, String key) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(create.text())) {
      create.set(statement, "key", key);
      create.set(statement, "number", 0);
      return statement.executeUpdate() > 0;
    } catch (SQLException e) {
      if (dialect.isDuplicate(e)) {
        return false;
      }
      throw e;
    }
  }

  /** Reads the places whose stored names are in this range. */
  public List<Row> places(Connection connection, String from, String below) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(places.text())) {
      places.set(statement, "from", from);
      places.set(statement, "below", below);
      return Syntax.list(statement, result -> Row.read(result, dialect));
    }
  }

  /**
   * Hands a lock that all readers have left to the first in its line, or frees it; returns whether
   * it was one.
   */
  public boolean handOver(Connection connection, String lock) throws SQLException {
    return dialect.end(connection, handOver, lock, "", Dialect.NONE, 0);
  }

  /**
   * Does {@link #handOver} for a lock of which all places are over, whether their readers have left
   * or not, if there was no grant since they were looked at.
   *
   * @param number the number of the lock's last grant
   * @param seen the stored names of all places
   */
  public boolean settle(Connection connection, String lock, long number, List<String> seen)
      throws SQLException {
    Sql sql = settle.of(Math.max(1, seen.size()));
    try (PreparedStatement statement = connection.prepareStatement(sql.text())) {
      sql.set(statement, "key", lock);
      sql.set(statement, "number", number);
      sql.set(statement, "hold", 0);
      sql.set(statement, "keys", seen.isEmpty() ? NO_PLACES : seen);
      sql.set(statement, "count", seen.size());
      return dialect.isDone(statement);
    }
  }

  /** Extends these locks, as far as readers have them; locked rows are left alone. */
  public int renewLocks(Connection connection, List<String> locks, long ttlMicros)
      throws SQLException {
    Sql sql = renewLocks.of(locks.size());
    try (PreparedStatement statement = connection.prepareStatement(sql.text())) {
      sql.set(statement, "keys", locks);
      sql.set(statement, "ttl", ttlMicros);
      return statement.executeUpdate();
    }
  }

  /**
   * Extends what these readers have; locked rows are left alone.
   *
   * @param untilMicros the end of the locks, which no reader may outlast, in microseconds since
   *     1970
   */
  public int renewPlaces(
      Connection connection,
      List<String> places,
      List<String> owners,
      long ttlMicros,
      long untilMicros)
      throws SQLException {
    Sql sql = renewPlaces.of(places.size());
    try (PreparedStatement statement = connection.prepareStatement(sql.text())) {
      sql.set(statement, "keys", places);
      sql.set(statement, "owners", owners);
      sql.set(statement, "ttl", ttlMicros);
      sql.set(statement, "until", untilMicros);
      return statement.executeUpdate();
    }
  }
}
