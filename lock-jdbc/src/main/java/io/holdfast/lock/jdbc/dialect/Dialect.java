package io.holdfast.lock.jdbc.dialect;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The SQL statements of one kind of database, for one table of locks and one of waiters. Each
 * method runs on a connection that the caller passes. Unless it says otherwise, it sends one
 * statement and leaves the commit to the caller.
 *
 * <p>The line of a lock is the waiters that are alive and whose place is above the lock's
 * {@code served}. A hand-over raises {@code served} to the place of the waiter that got the lock,
 * so a waiter's row that is not deleted yet is in no line. Waiters announce themselves: they set
 * {@code wanted_until} to a time in the near future, and renew it. While it is there,
 * {@link #acquire} and {@link #release} do nothing, and {@link #take} and {@link #handOver} look at
 * the line. A waiter that is not announced yet can be overtaken, and is not handed the lock; it
 * finds the free lock at its next poll.
 *
 * <p>Threads: immutable, and safe for use by any number of threads.
 */
public abstract sealed class Dialect permits MySql, Postgres, H2 {
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

  /** The answer of {@link #acquire} if a grant or a minimum hold has the lock. */
  public static final long TAKEN = 1;

  /**
   * The answer of {@link #acquire} if the lock is free, but another transaction has its row locked,
   * or somebody may be waiting.
   */
  public static final long UNSURE = 2;

  /** The place of a client that is not in the line: behind all waiters. */
  public static final long NO_PLACE = Long.MAX_VALUE;

  /** More than places can differ that several nodes of a cluster give out at the same time. */
  private static final long PLACES_OF_A_CLUSTER = 1_000;

  /**
   * The time within which a waiter must accept a lock that was handed over to it: three answers
   * that take a third of the default store timeout each.
   */
  public static final long HANDED_OVER_MICROS = 5_000_000;

  /**
   * The time for which a waiter counts as alive after its client last reported it. A dead waiter
   * delays the others by no more than this.
   */
  public static final long ALIVE_MICROS = 4_000_000;

  /** An announcement that somebody waits is renewed when less than this is left of it. */
  public static final long ANNOUNCED_MICROS_MIN = ALIVE_MICROS / 2;

  /** One that has less than this left is renewed with others. */
  public static final long ANNOUNCED_MICROS_EARLY = ALIVE_MICROS / 4 * 3;

  /** The time without a report after which a waiter's row is deleted by others that leave. */
  private static final long DELETED_AFTER_MICROS = 600_000_000;

  /**
   * The farthest in the future that a reported {@code alive_until} or {@code wanted_until} is
   * believed. Bounded, since the clock may have been set back after the report. More than
   * {@link #ALIVE_MICROS}, since a statement may have begun before a report that it reads.
   */
  static final long BELIEVED_MICROS = 2 * ALIVE_MICROS;

  /** The most names that one statement of a listing reads, so that each statement is short. */
  private static final int PAGE = 10_000;

  /** The {@code FROM} clause for the waiters {@code a} in the line of lock {@code l}. */
  private static final String LINE =
      "FROM {waiters} a WHERE a.name = l.name AND a.place > l.served AND {alive waiter}";

  /**
   * The condition for a row that has not been used for this time. Never true of the version's row,
   * whose {@code changed_at} is 0.
   */
  private static final String UNUSED =
      "changed_at > 0 AND changed_at < {now} - :unused AND expires_at < {now} - :unused"
          + " AND wanted_until < {now}";

  /** The assignments by which a claim takes a lock. */
  private static final String TAKE = "number = {report}(GREATEST(number + 1, {now})),"
      + " owner = :owner, changed_at = {now}, expires_at = {now} + :ttl, holder = :holder";

  /** The condition for a lock that the claim has already, since it was handed over. */
  private static final String HANDED_OVER = "owner = :owner AND expires_at > {now}";

  /** The table and the columns of an insert of a lock's row. */
  private static final String ROW = "{table}"
      + " (name, owner, number, changed_at, expires_at, wanted_until, served, guarded, holder)";

  /** Inserts the row of a transaction's lock. */
  static final String CREATE_ROW =
      "INSERT INTO {row} VALUES (:key, '', 0, {now}, 0, 0, 0, 0, '') {on conflict}";

  static {
    // Initialises the enum now, and not at the first failure of a statement. In a full heap that
    // could fail, and then the enum would be of no use any more.
    Object unused = Failure.UNKNOWN;
  }

  private final String table;
  private final String database;
  private final Driver driver;
  private volatile long waitMillis;

  private final Sql acquireOrTell =
      updateOne(Template.ACQUIRE, "expires_at <= {now} AND {unwanted}", TAKE, "number");
  private final Sql acquire = acquireOrTell.with("wanted", "wanted_until");
  private final Sql acquireOrAnnounce = acquireOrTell.with(
      "wanted", "CASE WHEN {to be announced} THEN {now} + {alive} ELSE wanted_until END");
  private final Sql insert = sql(Template.INSERT);
  private final Sql release = sql(Template.RELEASE);
  private final Sql extend = updateOne(
      "owner = :owner AND number = :number AND expires_at > {now} + {late}",
      "expires_at = {now} + {report}(GREATEST(expires_at - {now}, :ttl))",
      "expires_at - {now}");
  private final HandOver handOver = new HandOver("owner = :owner AND number = :number", "TRUE");
  private final HandOver withdraw = new HandOver("owner = :owner", "FALSE");
  private final HandOver forceRelease =
      new HandOver("number = :number AND expires_at > {now}", "FALSE");
  private final Sql join = sql(Template.JOIN);
  private final Sql tryWaiting = sql(Template.TRY_WAITING);
  private final Sql take = updateOne(
      "(" + HANDED_OVER + " OR expires_at <= {now} AND served < :place"
          + " AND NOT EXISTS (SELECT 1 {line} AND a.place < :place))",
      // MySQL makes assignments from left to right, so the columns that tell the cases apart come
      // last.
      "number = {report}(CASE WHEN " + HANDED_OVER
          + " THEN number ELSE GREATEST(number + 1, {now}) END),"
          + " changed_at = CASE WHEN " + HANDED_OVER + " THEN changed_at ELSE {now} END,"
          + " served = GREATEST(served, :served), holder = :holder,"
          + " owner = :owner, expires_at = {now} + :ttl",
      "number");
  private final Sql reopen = sql(Template.UPDATE_UNLOCKED)
      .with("where", "name IN (:keys) AND served >= :place")
      .with("set", "served = :place - 1");
  final Sql createRow = new Sql(this, CREATE_ROW);
  final Sql touchRow = new Sql(
      this, "UPDATE {table} SET guarded = guarded + 1, changed_at = {now} WHERE name = :key");
  private final Sql guard = Sql.ofUser(this, """
      UPDATE {table} SET guarded = guarded + 1
      WHERE name = :key AND owner = :owner AND number = :number
      """);
  private final Sql claimId =
      new Sql(this, "UPDATE {table} SET owner = :owner WHERE name = :key AND owner = ''");
  private final Sql selectRowNoWait =
      new Sql(this, "SELECT 1 FROM {table} WHERE name = :key FOR UPDATE NOWAIT");
  // The limit of a query of many rows overrides MySQL's sql_select_limit, which could cut the
  // result short. A grant whose row is missing from the result counts as lost.
  private final Sql readRows = new Sql(this, """
      SELECT {columns} FROM {table} l WHERE l.name IN (:keys) LIMIT {batch}
      """);
  private final Sql readStandings = new Sql(this, """
      SELECT {columns}, COALESCE(w.owner, ''),
        (SELECT COUNT(*) {line} AND (w.place IS NULL OR a.place < w.place)),
        CASE WHEN w.place > l.served THEN 1 ELSE 0 END
      FROM {table} l LEFT JOIN {waiters} w ON w.name = l.name AND w.owner IN (:owners)
      WHERE l.name IN (:keys) LIMIT {batch}
      """);
  private final Sql renew = sql(Template.UPDATE_UNLOCKED)
      .with(
          "where",
          "name IN (:keys) AND owner IN (:owners) AND number IN (:numbers)"
              + " AND expires_at > {now} + {late}")
      .with("set", "expires_at = {now} + :ttl");
  private final Sql announce = sql(Template.UPDATE_UNLOCKED)
      .with("where", "name IN (:keys) AND expires_at > {now}")
      .with("set", "wanted_until = {now} + {alive}");
  private final Sql keepAlive = new Sql(this, """
      UPDATE {waiters} SET alive_until = {now} + {alive}
      WHERE name IN (:keys) AND owner IN (:owners)
      """);
  private final Sql leave = new Sql(this, """
      DELETE FROM {waiters}
      WHERE name IN (:keys) AND (owner IN (:owners) OR alive_until < {now} - {deleted after})
      """);
  private final Sql listHeld = new Sql(this, """
      SELECT {columns}, '', (SELECT COUNT(*) {line}), 0 FROM {table} l
      WHERE {name by bytes} >= :from AND {name by bytes} < :below AND l.expires_at > {now}
      ORDER BY {name by bytes} LIMIT :limit
      """);
  private final Sql endOfPage = new Sql(this, """
      SELECT name FROM {table} l WHERE {name by bytes} >= :from AND {name by bytes} < :below
      ORDER BY {name by bytes} LIMIT 1 OFFSET {page}
      """);
  private final Sql listUnused = new Sql(this, """
      SELECT name FROM {table} WHERE name > :from AND {unused} ORDER BY name LIMIT {batch}
      """);
  private final Sql deleteUnused =
      sql(Template.DELETE_UNLOCKED).with("where", "name IN (:keys) AND {unused}");
  private final Sql deleteUnusedWaiters =
      new Sql(this, "DELETE FROM {waiters} WHERE alive_until < {now} - :unused");

  /** @param database the name of the database, for messages */
  Dialect(String table, String database, Driver driver) {
    this.table = table;
    this.database = database;
    this.driver = driver;
  }

  private Sql sql(Template template) {
    return new Sql(this, template(template).replace("{unlocked}", template(Template.UNLOCKED)));
  }

  /** The statements by {@link Template#HAND_OVER} for one condition. */
  private final class HandOver {
    private final Sql failing;
    private final Sql passingOver;

    HandOver(String condition, String forgettable) {
      Sql both =
          sql(Template.HAND_OVER).with("condition", condition).with("forgettable", forgettable);
      failing = both.with("first", template(Template.FIRST_OR_FAIL));
      passingOver = both.with("first", template(Template.FIRST_UNLOCKED));
    }

    boolean on(Connection connection, Map<String, ?> values, boolean passesOver)
        throws SQLException {
      return end(connection, passesOver ? passingOver : failing, values);
    }
  }

  /** Returns a statement by {@link Template#UPDATE_ONE}. Called by constructors. */
  final Sql updateOne(String condition, String set, String reported) {
    return updateOne(Template.UPDATE_ONE, condition, set, reported);
  }

  /** Returns a statement by a template that has these three parts. Called by constructors. */
  Sql updateOne(Template template, String condition, String set, String reported) {
    return sql(template).with("set", set).with("condition", condition).with("reported", reported);
  }

  /** Returns this database's text. Called by constructors, so it must not read fields. */
  abstract String template(Template template);

  /** Fills in the parts of a text that never change. What is left are parameters. */
  final String fill(String template) {
    int dot = table.indexOf('.');
    return template
        .strip()
        .replace("{facts}", template(Template.FACTS))
        .replace("{schema}", template(Template.SCHEMA))
        .replace("{unique keys}", template(Template.UNIQUE_KEYS))
        .replace("{version}", template(Template.VERSION))
        .replace(
            "{in schema}",
            dot < 0 ? template(Template.OWN_SCHEMA) : "'" + table.substring(0, dot) + "'")
        .replace("{in table}", "'" + table.substring(dot + 1) + "'")
        .replace("{columns}", Row.COLUMNS)
        .replace("{line}", LINE)
        .replace("{unused}", UNUSED)
        .replace("{row}", ROW)
        .replace("{on conflict}", template(Template.ON_CONFLICT))
        .replace("{table}", table)
        .replace("{waiters}", waiters())
        .replace("{alive waiter}", "a.alive_until BETWEEN {now} AND {now} + {believed}")
        // With one look at the clock: MySQL's driver would prepare a text of more than 2,048
        // characters each time that it is used.
        .replace("{unwanted}", "wanted_until - {now} NOT BETWEEN 0 AND {believed}")
        .replace(
            "{to be announced}",
            "expires_at > {now}"
                + " AND wanted_until - {now} NOT BETWEEN {announced} AND {believed}")
        .replace("{name by bytes}", template(Template.NAME_BY_BYTES))
        .replace("{now}", template(Template.NOW))
        .replace("{report}", template(Template.REPORT))
        .replace("{late}", template(Template.LATE))
        .replace("{alive}", String.valueOf(ALIVE_MICROS))
        .replace("{announced}", String.valueOf(ANNOUNCED_MICROS_MIN))
        .replace("{deleted after}", String.valueOf(DELETED_AFTER_MICROS))
        .replace("{believed}", String.valueOf(BELIEVED_MICROS))
        .replace("{handed}", String.valueOf(HANDED_OVER_MICROS))
        .replace("{page}", String.valueOf(PAGE))
        .replace("{batch}", String.valueOf(BATCH_MAX));
  }

  /** Returns the name of the table of locks, as it was configured. */
  public final String table() {
    return table;
  }

  /** Returns the name of the table of waiters. */
  public final String waiters() {
    return table + "_waiter";
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
  public final String database() {
    return database;
  }

  /** Returns the file name of the schema script in the jar. */
  public final String script() {
    return database.toLowerCase(Locale.ROOT) + ".sql";
  }

  /** Returns the question for the server's {@linkplain Template#FACTS facts} and the schema. */
  public final String askServer() {
    return fill("SELECT {facts}, ({schema}) AS holdfast_schema");
  }

  /**
   * Returns the question for all that must be known of the server and the tables. Its row has what
   * {@link #askServer} has, and then the columns of both tables, with {@code holdfast_waiters} in
   * between; those of the first table have the row that tells the version.
   */
  public final String askTables() {
    return fill("""
        SELECT {facts}, ({schema}) AS holdfast_schema, ({unique keys}) AS holdfast_keys,
          l.*, 0 AS holdfast_waiters, w.*
        FROM (SELECT 1 AS holdfast_one) o
        LEFT JOIN {table} l ON {version} LEFT JOIN {waiters} w ON 1 = 0
        """);
  }

  /** Throws if this server can't be used at all, with a message that says why. */
  public abstract void checkServer(ResultSet answer) throws SQLException;

  /**
   * Returns the settings of this server and session by which it can forget what it has confirmed,
   * each with what that takes.
   */
  public List<String> risks(ResultSet answer) throws SQLException {
    return List.of();
  }

  /**
   * Returns the name of the table, with the schema in which this session finds it now, so that it
   * does not matter which schema a later session is in.
   */
  public final String qualifiedTable(ResultSet answer) throws SQLException {
    String schema = answer.getString("holdfast_schema");
    return schema == null || table.indexOf('.') >= 0 ? table : schema + '.' + table;
  }

  /**
   * Returns the id of the tables, which no other database has (unless it was copied from this one
   * later); empty if they have none yet.
   */
  public final String readId(Connection connection) throws SQLException {
    return readRow(connection, VERSION_KEY).map(Row::owner).orElse("");
  }

  /** Gives the tables an id, unless they have one. */
  public final void claimId(Connection connection, String id) throws SQLException {
    update(connection, claimId, Map.of("key", VERSION_KEY, "owner", id));
  }

  /**
   * Whether a connection with autocommit is in a transaction all the same, since somebody began one
   * by SQL text. No I/O: the driver knows from the server's last answer. After an error it may say
   * yes without knowing. False with an unknown driver.
   */
  public final boolean isInTransaction(Connection connection) throws SQLException {
    return driver.isInTransaction(connection);
  }

  /** The warnings of a statement or a connection. */
  @FunctionalInterface
  public interface Warnings {
    @Nullable
    SQLWarning first() throws SQLException;
  }

  /**
   * Throws if the server warned that it may not keep what it confirmed. Other drivers than
   * PostgreSQL's would ask for warnings, and no warning of their servers says so.
   */
  public void checkKept(Warnings warnings) throws SQLException {}

  /**
   * Checks that the table has a unique key on the name alone, and whatever else guards rely on.
   *
   * @return what is wrong, or null if nothing is
   */
  public @Nullable String flaw(ResultSet answer) throws SQLException {
    return answer.getLong("holdfast_keys") > 0 ? null : "it has no unique key on the column name";
  }

  /** Whether a column of this type, as the driver calls it, distinguishes all names. */
  public final boolean isExactNameType(String typeName) {
    return typeName.toLowerCase(Locale.ROOT).matches(template(Template.NAME_TYPES));
  }

  // One lock.

  /**
   * Takes the lock if it is free and nobody can be in its line.
   *
   * @return the grant's number, or {@link #TAKEN}, {@link #UNSURE}, or {@link #NONE} if there is no
   *     row
   */
  public final long acquire(Connection connection, StoredClaim claim) throws SQLException {
    return acquire(connection, acquire, ofClaim(claim, NO_PLACE));
  }

  /**
   * Does {@link #acquire} for a claim that joins the line if the lock is taken; {@link #announce}s
   * then that somebody waits, unless {@link #join} does.
   */
  public final long acquireOrAnnounce(Connection connection, StoredClaim claim)
      throws SQLException {
    return acquire(connection, acquireOrAnnounce, ofClaim(claim, NO_PLACE));
  }

  /** Whether an answer of {@link #acquire} is the number of a grant. */
  public static boolean isGrant(long answer) {
    return answer > UNSURE;
  }

  /**
   * Takes a lock that has no row yet.
   *
   * @return the grant's number, or {@link #NONE} if it has a row by now
   */
  public final long insert(Connection connection, StoredClaim claim) throws SQLException {
    try {
      return runForReport(connection, insert, ofClaim(claim, NO_PLACE));
    } catch (SQLException e) {
      if (failure(e) == Failure.DUPLICATE) {
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
      Connection connection, StoredClaim claim, long number, long holdMicros) throws SQLException {
    return end(connection, release, ofGrant(claim, number, holdMicros));
  }

  /**
   * Extends the grant to at least this time from now, if it still has the lock; leaves a locked row
   * alone.
   *
   * @return the time for which the grant has the lock, in microseconds, or {@link #NONE} if nothing
   *     was changed
   */
  public final long extend(Connection connection, StoredClaim claim, long number, long ttlMicros)
      throws SQLException {
    return runForReport(connection, extend, ofGrant(claim, number, ttlMicros));
  }

  // The line.

  /**
   * Hands the lock to the first in line, or frees it if the line is empty, if nobody has taken or
   * freed it since this grant, even if the grant's time is over; leaves a locked row alone.
   *
   * @param holdMicros the time for which it stays taken, in microseconds; unless it is zero, the
   *     lock is not handed over now
   * @param passesOver whether to pass over waiters whose rows are locked; if not, the statement
   *     fails or does nothing if the first one's is
   * @return whether it did; if not, the grant does not have the lock, or its row is locked
   */
  public final boolean handOver(
      Connection connection, StoredClaim claim, long number, long holdMicros, boolean passesOver)
      throws SQLException {
    return handOver.on(connection, ofGrant(claim, number, holdMicros), passesOver);
  }

  /** @param micros the time for which the lock is taken from now on */
  private static Map<String, ?> ofGrant(StoredClaim claim, long number, long micros) {
    return Map.of(
        "key", claim.key(),
        "owner", claim.owner(),
        "number", number,
        "hold", micros,
        "ttl", micros);
  }

  /**
   * Does {@link #handOver} for the grant of this claim, if it was granted at all; returns whether
   * it did.
   */
  public final boolean withdraw(Connection connection, StoredClaim claim, boolean passesOver)
      throws SQLException {
    return withdraw.on(connection, ofGrant(claim, NONE, 0), passesOver);
  }

  /** Does {@link #handOver} for the grant of this number; returns whether it did. */
  public final boolean forceRelease(
      Connection connection, String key, long number, boolean passesOver) throws SQLException {
    return forceRelease.on(
        connection, Map.of("key", key, "number", number, "hold", 0L), passesOver);
  }

  /**
   * Adds a waiter to the end of the line, and announces that somebody waits, unless
   * {@link #acquireOrAnnounce} did; not in a row that is locked.
   *
   * @return the waiter's place
   */
  public long join(Connection connection, StoredClaim claim) throws SQLException {
    return runForReport(connection, join, ofClaim(claim, NO_PLACE));
  }

  /**
   * Whether the counter of places was set back (by TRUNCATE or RESTART IDENTITY, or on a replica
   * that did not get it). For a long time, nobody who joins would then be in the line. A place that
   * is only a little lower proves nothing: other nodes of a cluster give out such places.
   *
   * @param place that of a waiter that is not in the line, and whose turn can't be over
   */
  public static boolean isSetBack(Row row, long place) {
    return row.served() - place > PLACES_OF_A_CLUSTER;
  }

  /** Lowers {@code served}, so that the waiter of this place and all behind it are in the line. */
  public final int reopenLine(Connection connection, String key, long place) throws SQLException {
    return update(connection, reopen, Map.of("keys", List.of(key), "place", place));
  }

  /**
   * Accepts the lock if it was handed over to this waiter, which then has it for its TTL from now.
   * Or takes it if it is free, nobody in its line is before this place, and the turn of this place
   * is not over. Leaves a locked row alone.
   *
   * @param place the waiter's place, or {@link #NO_PLACE} for a client that is not in the line
   * @return the grant's number, or {@link #NONE} if it did neither
   */
  public final long take(Connection connection, StoredClaim claim, long place) throws SQLException {
    return runForReport(connection, take, ofClaim(claim, place));
  }

  private Map<String, ?> ofClaim(StoredClaim claim, long place) {
    return Map.of(
        "key", claim.key(),
        "owner", claim.owner(),
        "ttl", claim.ttlMicros(),
        "holder", claim.holder(),
        "inbox", inbox(),
        "place", place,
        "served", place == NO_PLACE ? 0 : place);
  }

  /**
   * Writes to the row if this grant is still the last one, so that nobody takes the lock before the
   * caller's transaction ends. A write rather than a locking read, since on a cluster with several
   * writers (Galera, group replication) other nodes see only writes.
   *
   * @return whether this grant is still the last one
   */
  public final boolean guard(Connection connection, StoredClaim claim, long number)
      throws SQLException {
    return update(connection, guard, ofGrant(claim, number, 0)) > 0;
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
   * Locks the row until the transaction ends; creates it if necessary, and waits. May send several
   * statements. One of them is a write, so that databases that can do so (PostgreSQL, MariaDB)
   * refuse a transaction whose snapshot is older than the last holder's end, and so that other
   * nodes of a cluster see it. It records the time of use, which a purge needs.
   */
  public abstract void lockRow(Connection transaction, String key) throws SQLException;

  /**
   * Does {@link #lockRow}, but does not wait for a transaction that has the row locked; returns
   * whether the row is now locked for this one.
   */
  public abstract boolean tryLockRow(Connection transaction, String key) throws SQLException;

  // Many locks.

  /** Reads a row without locking it; empty if it doesn't exist. */
  public final Optional<Row> readRow(Connection connection, String key) throws SQLException {
    return readRows(connection, List.of(key)).stream().findFirst();
  }

  /** Reads rows without locking them; rows that don't exist are missing from the result. */
  public final List<Row> readRows(Connection connection, List<String> keys) throws SQLException {
    return rows(connection, readRows, Map.of("keys", keys), result -> Row.read(result, this));
  }

  /**
   * Reads the rows of these waiters' locks, and their lines, without locking them; rows that don't
   * exist are missing from the result.
   *
   * @param waiters at most one for each name
   */
  public final List<Standing> readStandings(Connection connection, List<StoredClaim> waiters)
      throws SQLException {
    return rows(connection, readStandings, ofAll(waiters), result -> Standing.read(result, this));
  }

  /**
   * Extends grants of these claims and numbers, whose TTLs are equal, to their TTL from now if they
   * still have their locks; returns the number of rows that were changed. Locked rows are left
   * alone.
   */
  public final int renew(Connection connection, List<StoredClaim> claims, List<Long> numbers)
      throws SQLException {
    Map<String, Object> values = new HashMap<>(ofAll(claims));
    values.put("numbers", numbers);
    return update(connection, renew, values);
  }

  /**
   * Records in the rows of taken locks that somebody waits, and returns the number of these rows;
   * locked rows are left alone.
   */
  public final int announce(Connection connection, List<String> keys) throws SQLException {
    return update(connection, announce, Map.of("keys", keys));
  }

  /** Does nothing, with all the rights on the table of waiters that waiting needs. */
  public void tryWaiting(Connection connection, StoredClaim claim) throws SQLException {
    update(connection, tryWaiting, ofClaim(claim, NO_PLACE));
  }

  /** Records that these waiters are alive; returns how many of them there are. */
  public final int keepAlive(Connection connection, List<StoredClaim> waiters) throws SQLException {
    return update(connection, keepAlive, ofAll(waiters));
  }

  /**
   * Deletes these waiters; returns how many rows. Also deletes the waiters for the same locks that
   * died long ago, or each statement about waiters would find them again.
   */
  public final int leave(Connection connection, List<StoredClaim> waiters) throws SQLException {
    return update(connection, leave, ofAll(waiters));
  }

  /**
   * Puts keys and owner ids into two lists. These match no wrong pairs, since an owner id belongs
   * to one lock.
   */
  private static Map<String, ?> ofAll(List<StoredClaim> claims) {
    return Map.of(
        "keys", claims.stream().map(StoredClaim::key).toList(),
        "owners", claims.stream().map(StoredClaim::owner).toList(),
        "ttl", claims.get(0).ttlMicros());
  }

  // Listings and purges.

  /**
   * Returns the taken locks whose stored names are in a range, up to a limit, in the order of
   * names.
   */
  public final List<Standing> listHeld(Connection connection, String from, String below, long limit)
      throws SQLException {
    Map<String, ?> range = Map.of("from", from, "below", below, "limit", limit);
    return rows(connection, listHeld, range, result -> Standing.read(result, this));
  }

  /**
   * Returns the end of the range that one {@link #listHeld} should read: the name that has
   * {@value #PAGE} names of this range before it, or the end of this range.
   */
  public final String endOfPage(Connection connection, String from, String below)
      throws SQLException {
    Map<String, ?> range = Map.of("from", from, "below", below);
    List<String> end = rows(connection, endOfPage, range, result -> key(result, 1));
    return end.isEmpty() ? below : end.get(0);
  }

  /** Returns the first names above this one whose rows nobody has used for this time. */
  public final List<String> listUnused(Connection connection, String after, long unusedMicros)
      throws SQLException {
    Map<String, ?> values = Map.of("from", after, "unused", unusedMicros);
    return rows(connection, listUnused, values, result -> key(result, 1));
  }

  /**
   * Deletes those of these rows that nobody has used for this time and that are not locked; returns
   * how many.
   */
  public final int deleteUnused(Connection connection, List<String> keys, long unusedMicros)
      throws SQLException {
    return update(connection, deleteUnused, Map.of("keys", keys, "unused", unusedMicros));
  }

  /** Deletes the waiters that were last alive this long ago or longer; returns how many. */
  public final int deleteUnusedWaiters(Connection connection, long unusedMicros)
      throws SQLException {
    return update(connection, deleteUnusedWaiters, Map.of("unused", unusedMicros));
  }

  // Errors.

  /** Returns the kind of this failure. */
  public abstract Failure failure(SQLException e);

  static boolean hasClass(SQLException e, String... classes) {
    String state = e.getSQLState();
    return state != null && state.length() == 5 && Stream.of(classes).anyMatch(state::startsWith);
  }

  // How statements are sent.

  /**
   * Limits the time for which a statement from now on waits at the server for what another session
   * has locked, such as the table during DDL.
   *
   * @param millis zero: no limit but the server's
   */
  public final void limitWaits(long millis) {
    waitMillis = millis;
  }

  /** Returns the limit of {@link #limitWaits}. */
  public final long waitMillis() {
    return waitMillis;
  }

  /** Returns a statement with such a limit. */
  String limited(String sql, long millis) {
    return sql;
  }

  /** Whether the limit is a statement of its own, in front of the other. */
  boolean limitsInFront() {
    return false;
  }

  /** Returns where a waiter of this client is notified; empty if the database does not notify. */
  String inbox() {
    return "";
  }

  /**
   * Returns one more column, with a comma, that has the server end the transaction if its client
   * does not commit soon; empty if the database can't do that in a statement.
   */
  String bounded() {
    return "";
  }

  /** Sets a name: as UTF-8 bytes, unless the database compares texts byte by byte. */
  void setKey(PreparedStatement statement, int place, String key) throws SQLException {
    statement.setBytes(place, key.getBytes(StandardCharsets.UTF_8));
  }

  String key(ResultSet result, int column) throws SQLException {
    return new String(result.getBytes(column), StandardCharsets.UTF_8);
  }

  /**
   * Runs a statement and returns what it reports: the number of a grant, the place of a waiter, or
   * a time; {@link #NONE} if it did nothing.
   */
  long runForReport(Connection connection, Sql sql, Map<String, ?> values) throws SQLException {
    return query(connection, sql, values);
  }

  /** Runs a statement by {@link Template#ACQUIRE}. */
  long acquire(Connection connection, Sql sql, Map<String, ?> values) throws SQLException {
    return runForReport(connection, sql, values);
  }

  /** Runs a statement that ends a grant; returns whether it did. */
  boolean end(Connection connection, Sql sql, Map<String, ?> values) throws SQLException {
    return update(connection, sql, values) > 0;
  }

  /** Returns the first column of the result, or {@link #NONE} if it has no row. */
  static long query(Connection connection, Sql sql, Map<String, ?> values) throws SQLException {
    return sql.query(connection, values, result -> result.next() ? result.getLong(1) : NONE);
  }

  /** Returns the number of rows that the driver counts. */
  static int update(Connection connection, Sql sql, Map<String, ?> values) throws SQLException {
    return sql.update(connection, values);
  }

  /**
   * Does {@link #lockRow} unless another transaction has the row locked; returns whether it did.
   */
  final boolean lockIfFree(Connection transaction, String key, int errorIfLocked)
      throws SQLException {
    try {
      query(transaction, selectRowNoWait, Map.of("key", key));
    } catch (SQLException e) {
      if (e.getErrorCode() == errorIfLocked) {
        return false; // This error rolls back only the statement.
      }
      throw e;
    }
    lockRow(transaction, key);
    return true;
  }

  /** @param reader reads one row */
  private static <T> List<T> rows(
      Connection connection, Sql sql, Map<String, ?> values, Sql.Reader<T> reader)
      throws SQLException {
    return sql.query(connection, values, result -> {
      List<T> rows = new ArrayList<>();
      while (result.next()) {
        rows.add(reader.read(result));
      }
      return rows;
    });
  }
}
