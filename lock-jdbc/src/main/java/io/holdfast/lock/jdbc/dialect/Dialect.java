package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The SQL statements of one kind of database, for one table of locks and one of waiters. Each
 * method sends one statement, on a connection that the caller passes, and never commits.
 *
 * <p>The line of a lock is the waiters that are alive and whose place is above the lock's
 * {@code served}. A hand-over raises {@code served} to the place of the waiter that got the lock,
 * so a waiter's row that is not deleted yet is in no line. There can be a line only while
 * {@code wanted_until} is in the near future. {@link #acquire} and {@link #release} do nothing
 * then, so they need not look for waiters.
 *
 * <p>Threads: immutable, and safe for use by any number of threads.
 */
public abstract sealed class Dialect extends Syntax permits MySql, Postgres, H2 {
  /** The version of the schema that these statements work on. */
  public static final long SCHEMA_VERSION = 2;

  /**
   * The key of the row that holds the schema's version. No lock has it, since locks' keys begin
   * with a letter and a colon.
   */
  public static final String VERSION_KEY = "version";

  /** The key of the row that is taken and freed in a trial. No lock has it either. */
  public static final String TRIAL_KEY = "trial";

  /** The most locks that one statement works on. */
  public static final int BATCH_MAX = 512;

  /** The answer of a statement that returns a number, if it did nothing. */
  public static final long NONE = 0;

  /** The place of a client that is not in the line: behind all waiters. */
  public static final long NO_PLACE = Long.MAX_VALUE;

  private static final long PLACES_OF_A_CLUSTER = 1_000;

  /** The time within which a waiter must accept a lock that was handed over to it. */
  public static final long HANDED_OVER_MICROS = 3_000_000;

  /** The condition for waiters {@code a} in the line of lock {@code l}. */
  static final String LINE =
      "FROM {waiters} a WHERE a.name = l.name AND a.place > l.served AND {alive waiter}";

  private final Sql acquire;
  private final Sql insert;
  private final Sql release;
  private final Sql extend;
  private final Sql handOver;
  private final Sql withdraw;
  private final Sql forceRelease;
  private final Sql join;
  private final Sql accept;
  private final Sql take;
  private final Sql guard;
  private final ListSql reopen;
  private final ListSql look;
  private final ListSql lookAtLine;
  private final ListSql renew;
  private final ListSql announce;
  private final ListSql keepAlive;
  private final ListSql leave;

  Dialect(String table) {
    super(table);
    acquire = taking("{unwanted}", "served");
    insert = sql(insertTemplate());
    release = sql(releaseTemplate());
    extend = sql(extendTemplate());
    handOver = sql(handOverTemplate());
    withdraw = sql(handOverTemplate("owner = :owner"));
    forceRelease = sql(handOverTemplate("number = :number AND expires_at > {now}"));
    join = sql(joinTemplate());
    accept = sql(acceptTemplate());
    take = taking(
        "served < :place AND NOT EXISTS (SELECT 1 " + LINE + " AND a.place < :place)",
        "GREATEST(served, :served)");
    guard = sql("UPDATE {table} SET guarded = guarded + 1"
        + " WHERE name = :key AND owner = :owner AND number = :number");
    // With a limit of its own, a query is not cut short by MySQL's sql_select_limit: a row that is
    // missing counts as a lost lock.
    String all = " LIMIT " + BATCH_MAX;
    reopen = listSql(updateUnlocked("name IN (:keys) AND served >= :place", "served = :place - 1"));
    look = listSql(Row.SELECT + " FROM {table} l WHERE l.name IN (:keys)" + all);
    lookAtLine = listSql(Row.SELECT
        + ", COALESCE(w.owner, ''), (SELECT COUNT(*) "
        + LINE
        + " AND (w.place IS NULL OR a.place < w.place)),"
        + " CASE WHEN w.place > l.served THEN 1 ELSE 0 END"
        + " FROM {table} l LEFT JOIN {waiters} w ON w.name = l.name AND w.owner IN (:owners)"
        + " WHERE l.name IN (:keys)"
        + all);
    renew = listSql(updateUnlocked(
        "name IN (:keys) AND owner IN (:owners) AND expires_at > {now} + {late}",
        "expires_at = {now} + :ttl"));
    announce = listSql(
        updateUnlocked("name IN (:keys) AND expires_at > {now}", "wanted_until = {now} + {alive}"));
    keepAlive = listSql("UPDATE {waiters} SET alive_until = {now} + {alive}"
        + " WHERE name IN (:keys) AND owner IN (:owners)");
    leave = listSql("DELETE FROM {waiters} WHERE name IN (:keys)"
        + " AND (owner IN (:owners) OR alive_until < {now} - {dead})");
  }

  private Sql taking(String condition, String served) {
    return sql(takeTemplate().replace("{condition}", condition).replace("{served}", served));
  }

  /**
   * Returns the dialect of the database behind this connection. No I/O with the known drivers.
   *
   * @throws IllegalStateException the database is unknown, or only imitates a known one
   */
  public static Dialect of(Connection connection, String table) throws SQLException {
    DatabaseMetaData metaData = connection.getMetaData();
    String product = metaData.getDatabaseProductName();
    // Behind MySQL's driver, a MariaDB server has the product name MySQL, and MariaDB in its
    // version.
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

  /** Returns the name of the database, for messages. */
  public abstract String database();

  /** Returns the file name of the schema script in the jar. */
  public abstract String script();

  /**
   * Throws if this database can't be used at all, with a message that says why; asks the database
   * if necessary.
   */
  public void checkServer(Connection connection) throws SQLException {}

  /**
   * Returns the name of the table with its schema before it, as this session finds the table now,
   * so that it does not matter which schema a later session is in.
   */
  public final String qualifiedTable(Connection connection) throws SQLException {
    if (table().indexOf('.') >= 0) {
      return table();
    }
    String schema = quotedSchema(connection);
    return schema == null ? table() : schema + '.' + table();
  }

  /**
   * Whether a connection with autocommit is in a transaction all the same, since somebody began one
   * by SQL text. No I/O: the driver knows from the last answer. After an error it may say yes
   * without knowing. False with an unknown driver.
   */
  public boolean isInTransaction(Connection connection) throws SQLException {
    return false;
  }

  /** Asks for the table's schema, as it is put into statements; null if there is none. */
  abstract @Nullable String quotedSchema(Connection connection) throws SQLException;

  /** Asks a question whose answer is a text; null if there is none. */
  final @Nullable String text(Connection connection, String question) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(question);
        ResultSet result = statement.executeQuery()) {
      return result.next() ? result.getString(1) : null;
    }
  }

  /**
   * Checks that the table has a unique key on the name alone, and whatever else guards rely on.
   *
   * @return what is wrong, or null if nothing is
   */
  public abstract @Nullable String flaw(Connection connection) throws SQLException;

  /** Whether a column of this type, as the driver calls it, distinguishes all names. */
  public abstract boolean isExactNameType(String typeName);

  // One lock.

  /**
   * Takes the lock if it is free and nobody can be in its line.
   *
   * @return the grant's number, or {@link #NONE} if the lock is taken or may have a line, if its
   *     row is locked, or if there is no row
   */
  public long acquire(Connection connection, StoredClaim claim) throws SQLException {
    return number(connection, acquire, claim, NO_PLACE);
  }

  /**
   * Takes a lock that has no row yet.
   *
   * @return the grant's number, or {@link #NONE} if it has a row by now
   */
  public final long insert(Connection connection, StoredClaim claim) throws SQLException {
    try {
      return number(connection, insert, claim, NO_PLACE);
    } catch (SQLException e) {
      if (isDuplicate(e)) {
        return NONE;
      }
      throw e;
    }
  }

  /**
   * Frees the lock if the grant has it and nobody can be in its line. Not for a grant whose guard
   * may still have the row locked: this statement may wait for the guard's transaction.
   *
   * @param holdMicros the time for which it stays taken, in microseconds
   * @return whether it was freed; if not, call {@link #handOver}
   */
  public final boolean release(
      Connection connection, String key, String owner, long number, long holdMicros)
      throws SQLException {
    return end(connection, release, key, owner, number, holdMicros);
  }

  /**
   * Extends the grant to at least this time from now, if it still has the lock; leaves a locked row
   * alone.
   *
   * @return the time for which the grant has the lock, in microseconds, or {@link #NONE} if nothing
   *     was changed
   */
  public long extend(Connection connection, String key, String owner, long number, long ttlMicros)
      throws SQLException {
    try (PreparedStatement statement = prepareToReport(connection, extend)) {
      extend.set(statement, "key", key);
      extend.set(statement, "owner", owner);
      extend.set(statement, "number", number);
      extend.set(statement, "ttl", ttlMicros);
      return reported(statement);
    }
  }

  // The line.

  /**
   * Hands the lock to the first in line if the grant has it, or frees it if the line is empty;
   * leaves a locked row alone.
   *
   * @param holdMicros the time for which it stays taken, in microseconds; unless it is zero, the
   *     lock is not handed over now
   * @return whether it did; if not, the grant does not have the lock, or its row is locked
   */
  public boolean handOver(
      Connection connection, String key, String owner, long number, long holdMicros)
      throws SQLException {
    return end(connection, handOver, key, owner, number, holdMicros);
  }

  /**
   * Does {@link #handOver} for the grant of this owner id, if it was granted at all; returns
   * whether it did.
   */
  public final boolean withdraw(Connection connection, String key, String owner)
      throws SQLException {
    return end(connection, withdraw, key, owner, NONE, 0);
  }

  /** Does {@link #handOver} for the grant of this number; returns whether it did. */
  public final boolean forceRelease(Connection connection, String key, long number)
      throws SQLException {
    return end(connection, forceRelease, key, "", number, 0);
  }

  /** Runs a statement that ends a grant; returns whether it did. */
  boolean end(
      Connection connection, Sql sql, String key, String owner, long number, long holdMicros)
      throws SQLException {
    return end(connection, sql, key, owner, number, holdMicros, true);
  }

  /** @param notify whether to notify the next holder, if the database notifies */
  final boolean end(
      Connection connection,
      Sql sql,
      String key,
      String owner,
      long number,
      long holdMicros,
      boolean notify)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(sql.text())) {
      sql.set(statement, "key", key);
      sql.set(statement, "owner", owner);
      sql.set(statement, "number", number);
      sql.set(statement, "hold", holdMicros);
      sql.set(statement, "notify", notify ? 1 : 0);
      return isDone(statement);
    }
  }

  /**
   * Adds a waiter to the end of the line.
   *
   * @return the waiter's place
   */
  public final long join(Connection connection, StoredClaim claim) throws SQLException {
    return number(connection, join, claim, NO_PLACE);
  }

  /**
   * Whether the counter of places was set back (by TRUNCATE or RESTART IDENTITY, or on a replica
   * that did not get it), so that nobody who joins would be in the line for a long time. A place
   * that is only a little lower proves nothing: other nodes of a cluster give out such places.
   *
   * @param place that of a waiter that joined after the row was read
   */
  public static boolean isSetBack(Row row, long place) {
    return row.served() - place > PLACES_OF_A_CLUSTER;
  }

  /**
   * Puts the waiter of this place into the line, and all waiters behind it, by lowering
   * {@code served}.
   */
  public final int reopenLine(Connection connection, String key, long place) throws SQLException {
    Sql sql = reopen.of(1);
    try (PreparedStatement statement = connection.prepareStatement(sql.text())) {
      sql.set(statement, "keys", List.of(key));
      sql.set(statement, "place", place);
      return statement.executeUpdate();
    }
  }

  /**
   * Accepts the lock that was handed over to this waiter, which then has it for its TTL from now;
   * leaves a locked row alone.
   *
   * @return the grant's number, or {@link #NONE} if it was not handed over, or too long ago, or if
   *     the row is locked
   */
  public long accept(Connection connection, StoredClaim claim) throws SQLException {
    return number(connection, accept, claim, NO_PLACE);
  }

  /**
   * Takes the lock if it is free and nobody in its line is before this place.
   *
   * @param place the waiter's place, or {@link #NO_PLACE} for a client that is not in the line
   * @return the grant's number, or {@link #NONE} as in {@link #acquire}
   */
  public long take(Connection connection, StoredClaim claim, long place) throws SQLException {
    return number(connection, take, claim, place);
  }

  /** Runs a statement that reports the number of a grant, or the place of a waiter. */
  private long number(Connection connection, Sql sql, StoredClaim claim, long place)
      throws SQLException {
    try (PreparedStatement statement = prepareToReport(connection, sql)) {
      sql.set(statement, "key", claim.key());
      sql.set(statement, "owner", claim.owner());
      sql.set(statement, "ttl", claim.ttlMicros());
      sql.set(statement, "holder", claim.holder());
      sql.set(statement, "inbox", inbox());
      sql.set(statement, "place", place);
      sql.set(statement, "served", place == NO_PLACE ? 0 : place);
      return reported(statement);
    }
  }

  /**
   * Writes to the row if this grant is still the last one, so that nobody takes the lock before the
   * caller's transaction ends. A write rather than a locking read, since on a cluster with several
   * writers (Galera, group replication) other nodes see only writes.
   *
   * @return whether this grant is still the last one
   */
  public final boolean guard(Connection connection, String key, String owner, long number)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(guard.text())) {
      guard.set(statement, "key", key);
      guard.set(statement, "owner", owner);
      guard.set(statement, "number", number);
      return statement.executeUpdate() > 0;
    }
  }

  /**
   * Whether {@link #guard}, even if it changes nothing, can keep the row locked until the caller's
   * transaction ends, so that the lock's next holder could not renew.
   */
  public boolean guardLocksWhatItRefuses() {
    return false;
  }

  // A transaction's own row lock.

  /**
   * Locks the row until the transaction ends; creates it if necessary, and waits. A write, so that
   * databases that can do so (PostgreSQL, MariaDB) refuse a transaction whose snapshot is older
   * than the last holder's end, and so that other nodes of a cluster see it. It records the time of
   * use, which a purge needs.
   */
  public abstract void lockRow(Connection transaction, String key) throws SQLException;

  /**
   * Does {@link #lockRow}, but does not wait for a transaction that has the row locked; returns
   * whether the row is now locked for this one.
   */
  public abstract boolean tryLockRow(Connection transaction, String key) throws SQLException;

  // Many locks.

  /** Reads rows without locking them; rows that don't exist are missing from the result. */
  public final List<Row> look(Connection connection, List<String> keys) throws SQLException {
    Sql sql = look.of(keys.size());
    try (PreparedStatement statement = connection.prepareStatement(sql.text())) {
      sql.set(statement, "keys", keys);
      return list(statement, result -> Row.read(result, this));
    }
  }

  /**
   * Reads rows and their lines without locking them; rows that don't exist are missing from the
   * result.
   *
   * @param owners the owner ids of waiters, at most one for each name
   */
  public final List<Standing> lookAtLine(
      Connection connection, List<String> keys, List<String> owners) throws SQLException {
    Sql sql = lookAtLine.of(keys.size());
    try (PreparedStatement statement = connection.prepareStatement(sql.text())) {
      sql.set(statement, "keys", keys);
      sql.set(statement, "owners", owners);
      return list(statement, result -> Standing.read(result, this));
    }
  }

  /**
   * Extends what these owners hold, and returns the number of rows that were changed; locked rows
   * are left alone. An owner id belongs to one lock only, so the two lists match no wrong pairs.
   */
  public final int renew(
      Connection connection, List<String> keys, List<String> owners, long ttlMicros)
      throws SQLException {
    return update(connection, renew, keys, owners, ttlMicros);
  }

  /**
   * Records in the rows of taken locks that somebody waits, and returns the number of these rows;
   * locked rows are left alone.
   */
  public final int announce(Connection connection, List<String> keys) throws SQLException {
    return update(connection, announce, keys, List.of(), 0);
  }

  /** Records that these waiters are alive; returns how many of them there are. */
  public final int keepAlive(Connection connection, List<String> keys, List<String> owners)
      throws SQLException {
    return update(connection, keepAlive, keys, owners, 0);
  }

  /**
   * Deletes these waiters, and those for the same locks that died long ago, or else they would be
   * found again by each statement about waiters; returns how many.
   */
  public final int leave(Connection connection, List<String> keys, List<String> owners)
      throws SQLException {
    return update(connection, leave, keys, owners, 0);
  }

  private static int update(
      Connection connection, ListSql bySize, List<String> keys, List<String> owners, long ttlMicros)
      throws SQLException {
    Sql sql = bySize.of(keys.size());
    try (PreparedStatement statement = connection.prepareStatement(sql.text())) {
      sql.set(statement, "keys", keys);
      sql.set(statement, "owners", owners);
      sql.set(statement, "ttl", ttlMicros);
      // With execute(), MySQL's driver would first ask whether the session is read-only.
      return statement.executeUpdate();
    }
  }

  // Errors.

  /** Whether the statement certainly changed nothing, and may succeed if it is sent again. */
  public abstract boolean isTransient(SQLException e);

  /** Whether the statement certainly changed nothing. */
  public abstract boolean isRefused(SQLException e);

  /** Whether the server or the session is read-only, as a replica is. */
  public boolean isReadOnly(SQLException e) {
    return "25006".equals(e.getSQLState());
  }

  /** Whether the database did not understand the statement. */
  public boolean isSyntaxError(SQLException e) {
    return "42601".equals(e.getSQLState());
  }

  /** Whether an insert failed since there is a row of this name. */
  boolean isDuplicate(SQLException e) {
    return false;
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

  // What the dialects fill in.

  /** Returns where a waiter of this client is notified; empty if the database does not notify. */
  String inbox() {
    return "";
  }

  /** Prepares a statement for {@link #reported}. */
  PreparedStatement prepareToReport(Connection connection, Sql sql) throws SQLException {
    return connection.prepareStatement(sql.text());
  }

  /** Runs a statement that reports a number; returns that, or {@link #NONE} if it did nothing. */
  long reported(PreparedStatement statement) throws SQLException {
    return queryLong(statement);
  }

  /** Runs a statement that ends a grant; returns whether it did. */
  boolean isDone(PreparedStatement statement) throws SQLException {
    return statement.executeUpdate() > 0;
  }

  /** Returns the first column of the result, or {@link #NONE} if it has no row. */
  static long queryLong(PreparedStatement statement) throws SQLException {
    try (ResultSet result = statement.executeQuery()) {
      return result.next() ? result.getLong(1) : NONE;
    }
  }

  /** Runs an update of the row of this name; returns the number of rows that the driver counts. */
  static int update(Connection connection, Sql sql, String key) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(sql.text())) {
      sql.set(statement, "key", key);
      return statement.executeUpdate();
    }
  }

  /**
   * Runs a query about this name; returns whether the result has a row whose first column is not 0.
   */
  static boolean query(Connection connection, Sql sql, String key) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(sql.text())) {
      sql.set(statement, "key", key);
      return queryLong(statement) != NONE;
    }
  }
}
