package io.holdfast.lock.jdbc.dialect;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The statements of one database, for one table of locks and one of waiters. Each method sends one
 * statement, on a connection that the caller lent, and never commits.
 *
 * <p>The line of a lock are its waiters that are alive and whose place is above the lock's
 * {@code served}. A hand-over moves {@code served} up to the place of who got the lock, so a
 * waiter's row that is left behind is in no line. While {@code wanted_until} is in the future there
 * may be a line; {@link #acquire} and {@link #release} do nothing then, and stay as cheap as if
 * there were no lines.
 *
 * <p>Threads: safe for all; immutable.
 */
public abstract sealed class Dialect permits MySql, Postgres, H2 {
  /** The version of the schema that these statements work on. */
  public static final long SCHEMA_VERSION = 2;

  /** The key of the row that holds the schema's version; no lock's, since theirs begin "x:". */
  public static final String VERSION_KEY = "version";

  /** The key of the row that is locked and freed for a trial; no lock's either. */
  public static final String TRIAL_KEY = "trial";

  /** The most locks that one statement works on. */
  public static final int BATCH_MAX = 512;

  /** The answer of statements that tell a number, if they did nothing. */
  public static final long NONE = 0;

  /** The place of one who is not in the line: behind all. */
  public static final long NO_PLACE = Long.MAX_VALUE;

  /**
   * For so long a waiter counts as alive after its client has last said so: a waiter that died
   * costs the others no more.
   */
  static final long ALIVE_MICROS = 4_000_000;

  /** For so long a lock is its waiter's that was handed over: then it must have accepted it. */
  public static final long HANDED_OVER_MICROS = 3_000_000;

  /** The most rows that one statement of a list looks at, so that each is short. */
  private static final int LIST_ROWS = 10_000;

  /** Lists are padded to one of these lengths, so that few texts of each statement exist. */
  private static final int[] LIST_SIZES = {1, 8, 64, BATCH_MAX};

  /** A row that nobody used since the given number of microseconds; the version's row never is. */
  private static final String DEAD =
      "changed_at > 0 AND changed_at < {now} - ? AND expires_at < {now} - ? AND wanted_until < {now}";

  /** The columns of a {@link Row}, in its order. */
  private static final String ROW = """
      SELECT l.name, l.owner, l.number, {now} - l.changed_at, l.changed_at, l.expires_at - {now},
        l.wanted_until - {now}, l.holder""";

  /** The waiters {@code a} in the line of lock {@code l}. */
  static final String LINE =
      "FROM {waiters} a WHERE a.name = l.name AND a.place > l.served AND a.alive_until > {now}";

  private final String table;
  private final String[] lookBySize;
  private final String[] renewBySize;
  private final String[] lookAtLineBySize;
  private final String[] announceBySize;
  private final String[] keepAliveBySize;
  private final String[] leaveBySize;
  private final String[] deleteDeadBySize;
  private final String deleteDeadWaiters;
  private final String listDead;
  private final String listFirstDead;
  private final String listHeld;
  private final String listNext;

  Dialect(String table) {
    this.table = table;
    lookBySize = bySize(ROW + " FROM {table} l WHERE l.name IN ({list})");
    lookAtLineBySize = bySize(ROW
        + ", COALESCE(w.owner, ''), (SELECT COUNT(*) "
        + LINE
        + " AND (w.place IS NULL OR a.place < w.place)),"
        + " CASE WHEN w.place > l.served THEN 1 ELSE 0 END"
        + " FROM {table} l LEFT JOIN {waiters} w ON w.name = l.name AND w.owner IN ({list})"
        + " WHERE l.name IN ({list})");
    renewBySize = bySize(updateUnlocked(
        "name IN ({list}) AND owner IN ({list}) AND expires_at > {now} + {late}",
        "expires_at = {now} + ?"));
    announceBySize = bySize(updateUnlocked(
        "name IN ({list}) AND expires_at > {now}",
        "wanted_until = GREATEST(wanted_until, {now} + " + ALIVE_MICROS + ")"));
    keepAliveBySize = bySize("UPDATE {waiters} SET alive_until = {now} + "
        + ALIVE_MICROS
        + " WHERE name IN ({list}) AND owner IN ({list})");
    leaveBySize = bySize("DELETE FROM {waiters} WHERE name IN ({list}) AND owner IN ({list})");
    deleteDeadWaiters = sql("DELETE FROM {waiters} WHERE alive_until < {now} - ?");
    deleteDeadBySize = bySize(deleteUnlocked("name IN ({list}) AND " + DEAD));
    listDead =
        sql("SELECT name FROM {table} WHERE name > ? AND " + DEAD + " ORDER BY name LIMIT 512");
    listFirstDead = sql("SELECT name FROM {table} WHERE " + DEAD + " ORDER BY name LIMIT 512");
    String range = " WHERE {key} >= ? AND {key} < ? ".replace("{key}", nameByBytes());
    String inOrder = "ORDER BY {key} LIMIT ".replace("{key}", nameByBytes());
    listHeld = sql(ROW
        + ", '', (SELECT COUNT(*) "
        + LINE
        + "), 0 FROM {table} l"
        + range
        + "AND l.expires_at > {now} "
        + inOrder
        + "?");
    listNext = sql("SELECT name FROM {table} l" + range + inOrder + "1 OFFSET " + LIST_ROWS);
  }

  /**
   * The dialect of the database behind this connection. No I/O with the known drivers.
   *
   * @throws IllegalStateException an unknown database, or one that only speaks like a known one
   */
  public static Dialect of(Connection connection, String table) throws SQLException {
    DatabaseMetaData metaData = connection.getMetaData();
    String product = metaData.getDatabaseProductName();
    // A MariaDB server behind MySQL's driver calls itself MySQL, and MariaDB in the version.
    String description =
        (product + " " + metaData.getDatabaseProductVersion()).toLowerCase(Locale.ROOT);
    LookAlikes.refuse(description);
    LookAlikes.refuseAt(metaData.getURL());
    if (description.contains("mariadb")) {
      return new MariaDb(table);
    }
    if (description.startsWith("mysql")) {
      return new MySql(table);
    }
    if (description.startsWith("postgresql")) {
      return new Postgres(table);
    }
    if (description.startsWith("h2")) {
      return new H2(table);
    }
    throw new IllegalStateException("Holdfast does not know the database '"
        + product
        + "'. It knows MySQL, MariaDB, PostgreSQL and H2");
  }

  /** The name of the database, for messages. */
  public abstract String database();

  /** The file name of the schema script in the jar. */
  public abstract String script();

  /** The table of locks, as it was configured. */
  public final String table() {
    return table;
  }

  /** The table of waiters. */
  public final String waiters() {
    return table + "_waiter";
  }

  /**
   * Fails if this database can't be used at all, with a message that says why; asks it if need be.
   */
  public void checkServer(Connection connection) throws SQLException {}

  /**
   * Whether the table has a unique key on the name alone and whatever else guards rely on.
   *
   * @return what is wrong; null: nothing
   */
  public abstract @Nullable String flaw(Connection connection) throws SQLException;

  /** Whether a column of this type, as the driver calls it, tells all names apart. */
  public abstract boolean isExactNameType(String typeName);

  // One lock.

  /**
   * Takes the lock if it is free and nobody can be in its line.
   *
   * @return the grant's number; {@link #NONE}: taken, perhaps waited for, locked by somebody, or
   *     there is no row
   */
  public abstract long acquire(Connection connection, Attempt attempt) throws SQLException;

  /**
   * Takes a lock that has no row yet.
   *
   * @return the grant's number; {@link #NONE}: it has a row by now
   */
  public abstract long insert(Connection connection, Attempt attempt) throws SQLException;

  /**
   * Frees the lock if the grant has it and nobody can be in its line.
   *
   * @param holdMicros how much longer it stays taken
   * @return whether it did; else {@link #handOver} is to be asked
   */
  public abstract boolean release(
      Connection connection, String key, String owner, long number, long holdMicros)
      throws SQLException;

  /**
   * Lets the grant have the lock for at least so long from now, if it still has it; leaves a row
   * alone that somebody has locked.
   *
   * @return for how many microseconds it has the lock yet; {@link #NONE}: nothing was changed
   */
  public abstract long extend(
      Connection connection, String key, String owner, long number, long ttlMicros)
      throws SQLException;

  // The line.

  /**
   * Hands the lock to the first in line if the grant has it, or frees it if the line is empty.
   *
   * @param holdMicros how much longer it stays taken; unless that is zero, nobody gets it now
   * @return whether the grant had it
   */
  public abstract boolean handOver(
      Connection connection, String key, String owner, long number, long holdMicros)
      throws SQLException;

  /** As {@link #handOver}, for the grant of this owner id, if it was granted at all. */
  public abstract void withdraw(Connection connection, String key, String owner)
      throws SQLException;

  /** As {@link #handOver}, for the grant of this number; tells whether it had the lock. */
  public abstract boolean forceRelease(Connection connection, String key, long number)
      throws SQLException;

  /**
   * Adds a waiter to the end of the line.
   *
   * @return its place
   */
  public abstract long join(Connection connection, Attempt attempt) throws SQLException;

  /**
   * Accepts the lock that was handed over to this waiter, which has it for its TTL from now.
   *
   * @return the grant's number; {@link #NONE}: it was not handed over, or too long ago
   */
  public abstract long accept(Connection connection, Attempt attempt) throws SQLException;

  /**
   * Takes the lock if it is free and nobody in its line is before this place.
   *
   * @param place the waiter's; {@link #NO_PLACE} for one who is not in the line
   * @return the grant's number; {@link #NONE}: as {@link #acquire}
   */
  public abstract long take(Connection connection, Attempt attempt, long place) throws SQLException;

  /**
   * Writes to the row if the grant still is the last one, so that nobody takes the lock before the
   * caller's transaction ends. A write rather than a locking read, since on a cluster with several
   * writers (Galera, group replication) only a write is seen by the other nodes.
   *
   * @return whether it is
   */
  public final boolean guard(Connection connection, String key, String owner, long number)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement("UPDATE "
        + table
        + " SET guarded = guarded + 1 WHERE name = ? AND owner = ? AND number = ?")) {
      setKey(statement, 1, key);
      statement.setString(2, owner);
      statement.setLong(3, number);
      return statement.executeUpdate() > 0;
    }
  }

  /**
   * Whether {@link #guard} can lock a row that it leaves as it is, until the caller's transaction
   * ends: the lock's next holder could not renew.
   */
  public boolean guardLocksWhatItRefuses() {
    return false;
  }

  // A transaction's own row lock.

  /**
   * Locks the row until the transaction ends, creating it if need be; waits. A write, so that a
   * transaction whose snapshot is older than the last holder's end is refused where the database
   * can (PostgreSQL, MariaDB), and so that other nodes of a cluster see it. It says when it was
   * used, since purges go by that.
   */
  public abstract void lockRow(Connection transaction, String key) throws SQLException;

  /** As {@link #lockRow}, but does not wait for a transaction that has the row. */
  public abstract boolean tryLockRow(Connection transaction, String key) throws SQLException;

  // Many locks.

  /** Reads rows without locking them; those that don't exist are missing from the answer. */
  public final List<Row> look(Connection connection, List<String> keys) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(pick(lookBySize, keys.size()))) {
      setKeys(statement, 1, keys);
      return rows(statement);
    }
  }

  /**
   * Reads rows and their lines without locking them; rows that don't exist are missing.
   *
   * @param owners waiters, at most one for each name
   */
  public final List<Standing> lookAtLine(
      Connection connection, List<String> keys, List<String> owners) throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(pick(lookAtLineBySize, keys.size()))) {
      int next = setStrings(statement, 1, owners);
      setKeys(statement, next, keys);
      return standings(statement);
    }
  }

  /** The taken locks whose stored names are in a range, at most so many, in the order of names. */
  public final List<Standing> listHeld(Connection connection, String from, String below, int limit)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(listHeld)) {
      setKey(statement, 1, from);
      setKey(statement, 2, below);
      statement.setInt(3, limit);
      return standings(statement);
    }
  }

  /**
   * The bound up to which one {@link #listHeld} shall go: the name in this range that has
   * {@value #LIST_ROWS} before it.
   *
   * @return null: the range has no more names than that
   */
  public final @Nullable String listNext(Connection connection, String from, String below)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(listNext)) {
      setKey(statement, 1, from);
      setKey(statement, 2, below);
      try (ResultSet result = statement.executeQuery()) {
        return result.next() ? key(result, 1) : null;
      }
    }
  }

  private List<Row> rows(PreparedStatement statement) throws SQLException {
    try (ResultSet result = statement.executeQuery()) {
      List<Row> rows = new ArrayList<>();
      while (result.next()) {
        rows.add(row(result));
      }
      return rows;
    }
  }

  private List<Standing> standings(PreparedStatement statement) throws SQLException {
    try (ResultSet result = statement.executeQuery()) {
      List<Standing> standings = new ArrayList<>();
      while (result.next()) {
        standings.add(new Standing(
            row(result), result.getString(9), result.getInt(10), result.getInt(11) != 0));
      }
      return standings;
    }
  }

  private Row row(ResultSet result) throws SQLException {
    return new Row(
        key(result, 1),
        result.getString(2),
        result.getLong(3),
        result.getLong(4),
        result.getLong(5),
        result.getLong(6),
        result.getLong(7),
        result.getString(8));
  }

  /**
   * Extends what these owners hold; rows that somebody has locked are left alone. An owner id
   * belongs to one lock, so two lists match no pair but the right ones.
   */
  public final void renew(
      Connection connection, List<String> keys, List<String> owners, long ttlMicros)
      throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(pick(renewBySize, keys.size()))) {
      int next = setKeys(statement, 1, keys);
      next = setStrings(statement, next, owners);
      statement.setLong(next, ttlMicros);
      // For execute() MySQL's driver would first ask whether the session is read-only.
      statement.executeUpdate();
    }
  }

  /** Says in the rows of taken locks that somebody waits; locked rows are left alone. */
  public final void announce(Connection connection, List<String> keys) throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(pick(announceBySize, keys.size()))) {
      setKeys(statement, 1, keys);
      statement.executeUpdate();
    }
  }

  /** Says that these waiters are alive. */
  public final void keepAlive(Connection connection, List<String> keys, List<String> owners)
      throws SQLException {
    update(connection, keepAliveBySize, keys, owners);
  }

  /** Deletes these waiters. */
  public final void leave(Connection connection, List<String> keys, List<String> owners)
      throws SQLException {
    update(connection, leaveBySize, keys, owners);
  }

  private void update(
      Connection connection, String[] bySize, List<String> keys, List<String> owners)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(pick(bySize, keys.size()))) {
      int next = setKeys(statement, 1, keys);
      setStrings(statement, next, owners);
      statement.executeUpdate();
    }
  }

  /** The first names above this one that were not used for so long; an empty list: no more. */
  public final List<String> listDead(
      Connection connection, @Nullable String after, long unusedMicros) throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(after == null ? listFirstDead : listDead)) {
      int next = 1;
      if (after != null) {
        setKey(statement, next++, after);
      }
      next = setLong(statement, next, unusedMicros);
      statement.setLong(next, unusedMicros);
      try (ResultSet result = statement.executeQuery()) {
        List<String> keys = new ArrayList<>();
        while (result.next()) {
          keys.add(key(result, 1));
        }
        return keys;
      }
    }
  }

  /** Deletes those of these rows that still are dead and not locked; tells how many. */
  public final int deleteDead(Connection connection, List<String> keys, long unusedMicros)
      throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(pick(deleteDeadBySize, keys.size()))) {
      int next = setKeys(statement, 1, keys);
      next = setLong(statement, next, unusedMicros);
      statement.setLong(next, unusedMicros);
      return statement.executeUpdate();
    }
  }

  /** Deletes waiters that were last alive so long ago. */
  public final void deleteDeadWaiters(Connection connection, long unusedMicros)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(deleteDeadWaiters)) {
      statement.setLong(1, unusedMicros);
      statement.executeUpdate();
    }
  }

  // Errors.

  /** Whether the statement certainly changed nothing, and may succeed if it is sent again. */
  public abstract boolean isTransient(SQLException e);

  /** Whether the statement certainly changed nothing. */
  public abstract boolean isRefused(SQLException e);

  /**
   * Whether the server, or the session, does not take writes: of several, it is not the primary.
   */
  public boolean isReadOnly(SQLException e) {
    return "25006".equals(e.getSQLState());
  }

  // What the dialects fill in.

  /** The database's clock in microseconds since 1970, whatever the session's time zone. */
  abstract String now();

  /**
   * For how long a statement has waited since its {@link #now}, in microseconds, where that stands
   * still meanwhile: what gives a lease more time must not revive one that ended in that time.
   */
  String late() {
    return "0";
  }

  /**
   * An update of the rows that match and that nobody has locked. The parameters of {@code where}
   * come first.
   */
  abstract String updateUnlocked(String where, String set);

  /** A deletion of the rows that match and that nobody has locked. */
  abstract String deleteUnlocked(String where);

  /** The column of names, such that it is compared and sorted byte by byte. */
  String nameByBytes() {
    return "name";
  }

  /** Names go as UTF-8 bytes, unless a database compares its texts bytewise. */
  void setKey(PreparedStatement statement, int index, String key) throws SQLException {
    statement.setBytes(index, key.getBytes(StandardCharsets.UTF_8));
  }

  String key(ResultSet result, int column) throws SQLException {
    return new String(result.getBytes(column), StandardCharsets.UTF_8);
  }

  final String sql(String template) {
    return template
        .strip()
        .replace("{table}", table)
        .replace("{waiters}", waiters())
        .replace("{now}", now())
        .replace("{late}", late());
  }

  /** The least value of {@code served} after somebody took the lock at this place. */
  static long served(long place) {
    return place == NO_PLACE ? 0 : place;
  }

  /** The answer's first column; {@code none} if it has no row. */
  static long queryLong(PreparedStatement statement, long none) throws SQLException {
    try (ResultSet result = statement.executeQuery()) {
      return result.next() ? result.getLong(1) : none;
    }
  }

  static boolean hasClass(SQLException e, String... classes) {
    String state = e.getSQLState();
    if (state == null || state.length() != 5) {
      return false;
    }
    for (String sqlClass : classes) {
      if (state.startsWith(sqlClass)) {
        return true;
      }
    }
    return false;
  }

  private String[] bySize(String template) {
    String[] texts = new String[LIST_SIZES.length];
    for (int i = 0; i < texts.length; i++) {
      texts[i] = sql(template)
          .replace("{list}", String.join(",", Collections.nCopies(LIST_SIZES[i], "?")));
    }
    return texts;
  }

  private static String pick(String[] texts, int size) {
    return texts[sizeIndex(size)];
  }

  private static int sizeIndex(int size) {
    for (int i = 0; i < LIST_SIZES.length; i++) {
      if (size <= LIST_SIZES[i]) {
        return i;
      }
    }
    throw new IllegalArgumentException("A list of " + size + " is too long for one statement");
  }

  private static int setLong(PreparedStatement statement, int index, long value)
      throws SQLException {
    statement.setLong(index, value);
    return index + 1;
  }

  /** Sets a list and pads it with its last element; returns the next index. */
  private int setKeys(PreparedStatement statement, int index, List<String> keys)
      throws SQLException {
    int end = index + LIST_SIZES[sizeIndex(keys.size())];
    for (int i = index; i < end; i++) {
      setKey(statement, i, keys.get(Math.min(i - index, keys.size() - 1)));
    }
    return end;
  }

  private static int setStrings(PreparedStatement statement, int index, List<String> values)
      throws SQLException {
    int end = index + LIST_SIZES[sizeIndex(values.size())];
    for (int i = index; i < end; i++) {
      statement.setString(i, values.get(Math.min(i - index, values.size() - 1)));
    }
    return end;
  }
}
