package io.holdfast.lock.jdbc.dialect;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The SQL statements of one kind of database, for one table of locks and one of waiters. Each
 * method runs on a connection that the caller passes. Unless it says otherwise, it has {@link Sql}
 * send one statement, and leaves the commit to the caller.
 *
 * <p>The line of a lock is the waiters that are alive and whose place is above the lock's
 * {@code served}. A hand-over raises {@code served} to the place of the waiter that got the lock,
 * so a waiter's row that is not deleted yet is in no line. Waiters announce themselves: they set
 * {@code wanted_until} to a time in the near future, and renew it. While it is there,
 * {@link #acquire} and {@link #release} do nothing, and {@link #take} and {@link #handOver} look at
 * the line. A waiter that is not announced yet can be overtaken, and is not handed the lock; it
 * finds the free lock at its next poll.
 *
 * <p>Threads: safe for use by any number of threads.
 */
public abstract sealed class Dialect permits MySql, Postgres, H2 {
  static {
    // Initialises the enum now, and not at the first failure of a statement. In a full heap that
    // could fail, and then the enum would be of no use any more.
    Object unused = Failure.UNKNOWN;
  }

  final Texts texts;
  private final Facts facts;
  private final String database;
  private final Driver driver;
  private final Map<LockStatement, Sql> statements = new EnumMap<>(LockStatement.class);
  private volatile long waitMillis;

  /** @param database the name of the database, for messages */
  Dialect(Texts texts, Facts facts, String database, Driver driver) {
    this.texts = texts;
    this.facts = facts;
    this.database = database;
    this.driver = driver;
    for (LockStatement statement : LockStatement.values()) {
      statements.put(statement, new Sql(this, statement.text(texts), statement.isOfUser()));
    }
  }

  final Sql sql(LockStatement statement) {
    return Objects.requireNonNull(statements.get(statement));
  }

  /** Returns what must be known of the server and the tables. */
  public final Facts facts() {
    return facts;
  }

  /** Returns the name of the table of locks, as it was configured. */
  public final String table() {
    return texts.table;
  }

  /** Returns the name of the table of waiters. */
  public final String waiters() {
    return Texts.waiters(texts.table);
  }

  /** Returns the name of the database, for messages. */
  public final String database() {
    return database;
  }

  /** Returns a statement of a schema script that does not wait for long for transactions. */
  public String limitedDdl(String sql) {
    return sql;
  }

  /** Returns the beginning of the file names of the schema scripts in the jar. */
  public final String scripts() {
    return database.toLowerCase(Locale.ROOT);
  }

  /**
   * Returns the id of the tables, which no other database has (unless it was copied from this one
   * later); empty if they have none yet.
   */
  public final String readId(Connection connection) throws SQLException {
    return readRow(connection, Protocol.VERSION_KEY).map(Row::owner).orElse("");
  }

  /** Gives the tables an id, unless they have one. */
  public final void claimId(Connection connection, String id) throws SQLException {
    sql(LockStatement.CLAIM_ID)
        .update(connection, Map.of("key", Protocol.VERSION_KEY, "owner", id));
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

  // One lock.

  /**
   * Takes the lock if it is free and nobody can be in its line.
   *
   * @return the grant's number, or {@link Protocol#TAKEN}, {@link Protocol#UNSURE}, or
   *     {@link Protocol#NONE} if there is no row
   */
  public final long acquire(Connection connection, StoredClaim claim) throws SQLException {
    return acquire(connection, sql(LockStatement.ACQUIRE), ofClaim(claim, Protocol.NO_PLACE));
  }

  /**
   * Does {@link #acquire} for a claim that joins the line if the lock is taken; {@link #announce}s
   * then that somebody waits, unless {@link #join} does.
   */
  public final long acquireOrAnnounce(Connection connection, StoredClaim claim)
      throws SQLException {
    return acquire(
        connection, sql(LockStatement.ACQUIRE_OR_ANNOUNCE), ofClaim(claim, Protocol.NO_PLACE));
  }

  /**
   * Takes a lock that has no row yet.
   *
   * @return the grant's number, or {@link Protocol#NONE} if it has a row by now
   */
  public final long insert(Connection connection, StoredClaim claim) throws SQLException {
    try {
      return runForReport(connection, sql(LockStatement.INSERT), ofClaim(claim, Protocol.NO_PLACE));
    } catch (SQLException e) {
      if (failure(e) == Failure.DUPLICATE) {
        return Protocol.NONE;
      }
      throw e;
    }
  }

  /**
   * Frees the lock if the grant has it and nobody can be in its line. Not for a grant whose guard
   * may still have the row locked: on some databases this statement waits for the guard's
   * transaction.
   *
   * @param holdMicros the time for which it stays taken, in microseconds
   * @return whether it was freed; if not, call {@link #handOver}
   */
  public final boolean release(
      Connection connection, StoredClaim claim, long number, long holdMicros) throws SQLException {
    return end(connection, sql(LockStatement.RELEASE), claim.grant(number, holdMicros));
  }

  /**
   * Extends the grant to at least this time from now, if it still has the lock; leaves a locked row
   * alone.
   *
   * @return the time for which the grant has the lock, in microseconds, or {@link Protocol#NONE} if
   *     nothing was changed
   */
  public final long extend(Connection connection, StoredClaim claim, long number, long ttlMicros)
      throws SQLException {
    LockStatement extend = claim.shared() ? LockStatement.EXTEND_READER : LockStatement.EXTEND;
    return runForReport(connection, sql(extend), claim.grant(number, ttlMicros));
  }

  // The line.

  /**
   * Hands the lock to the first in line, or frees it if the line is empty, if nobody has taken or
   * freed it since this grant, even if the grant's time is over; leaves a locked row alone. For a
   * reader: if nobody else shares the lock, whatever the number.
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
    LockStatement first =
        claim.shared() ? LockStatement.HAND_OVER_BY_READER : LockStatement.HAND_OVER;
    LockStatement unlocked = claim.shared()
        ? LockStatement.HAND_OVER_BY_READER_TO_UNLOCKED
        : LockStatement.HAND_OVER_TO_UNLOCKED;
    return end(connection, sql(passesOver ? unlocked : first), claim.grant(number, holdMicros));
  }

  /**
   * Does {@link #handOver} for the grant of this claim, if it was granted at all; returns whether
   * it did.
   */
  public final boolean withdraw(Connection connection, StoredClaim claim, boolean passesOver)
      throws SQLException {
    return end(
        connection,
        sql(passesOver ? LockStatement.WITHDRAW_TO_UNLOCKED : LockStatement.WITHDRAW),
        claim.grant(Protocol.NONE, 0));
  }

  /** Does {@link #handOver} for the grant of this number; returns whether it did. */
  public final boolean forceRelease(
      Connection connection, String key, long number, boolean passesOver) throws SQLException {
    return end(
        connection,
        sql(passesOver ? LockStatement.FORCE_RELEASE_TO_UNLOCKED : LockStatement.FORCE_RELEASE),
        Map.of("key", key, "number", number, "hold", 0L));
  }

  /**
   * Adds a waiter to the end of the line, and announces that somebody waits, unless
   * {@link #acquireOrAnnounce} did; not in a row that is locked.
   *
   * @return the waiter's place
   */
  public long join(Connection connection, StoredClaim claim) throws SQLException {
    Map<String, Object> values = new HashMap<>(ofClaim(claim, Protocol.NO_PLACE));
    values.put("holder", claim.waiter());
    return runForReport(connection, sql(LockStatement.JOIN), values);
  }

  /** Lowers {@code served}, so that the waiter of this place and all behind it are in the line. */
  public final int reopenLine(Connection connection, String key, long place) throws SQLException {
    return sql(LockStatement.REOPEN_LINE)
        .update(connection, Map.of("keys", List.of(key), "place", place));
  }

  /**
   * Accepts the lock if it was handed over to this waiter, which then has it for its TTL from now.
   * Or takes it if it is free, nobody in its line is before this place, and the turn of this place
   * is not over. Leaves a locked row alone.
   *
   * <p>For a reader: joins those who share the lock, or takes it if it is free, if nobody in its
   * line before this place wants it for itself. A reader that has it already gets
   * {@link Protocol#NONE}.
   *
   * @param place the waiter's place, or {@link Protocol#NO_PLACE} for a client that is not in the
   *     line
   * @return the grant's number, or {@link Protocol#NONE} if it did neither
   */
  public final long take(Connection connection, StoredClaim claim, long place) throws SQLException {
    LockStatement take = claim.shared() ? LockStatement.TAKE_TO_READ : LockStatement.TAKE;
    return runForReport(connection, sql(take), ofClaim(claim, place));
  }

  final Map<String, ?> ofClaim(StoredClaim claim, long place) {
    return Map.of(
        "key", claim.key(),
        "owner", claim.owner(),
        "ttl", claim.ttlMicros(),
        "holder", claim.holder(),
        "mode", claim.mode(),
        "inbox", inbox(),
        "place", place,
        "served", place == Protocol.NO_PLACE ? 0 : place);
  }

  /**
   * Writes to the row if this grant is still the last one, so that nobody takes the lock before the
   * caller's transaction ends. A write rather than a locking read, since on a cluster with several
   * writers (Galera, group replication) other nodes see only writes.
   *
   * @return whether this grant is still the last one; of a permit, whether nobody else got it since
   */
  public final boolean guard(Connection connection, StoredClaim claim, long number)
      throws SQLException {
    LockStatement guard = claim.isForPermit() ? LockStatement.GUARD_PERMIT : LockStatement.GUARD;
    return sql(guard).update(connection, claim.grant(number, 0)) > 0;
  }

  /** Whether {@link Template#UPDATE_ONE_WAITING} waits for a moment only. */
  boolean limitsWaitsForRows() {
    return true;
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
    return sql(LockStatement.READ_ROWS)
        .rows(connection, Map.of("keys", keys), result -> Row.read(result, this));
  }

  /**
   * Reads the rows of these waiters' locks, and their lines, without locking them; rows that don't
   * exist are missing from the result.
   */
  public final List<Standing> readStandings(Connection connection, List<StoredClaim> waiters)
      throws SQLException {
    return sql(LockStatement.READ_STANDINGS)
        .rows(connection, StoredClaim.all(waiters), result -> Standing.read(result, this));
  }

  /**
   * Extends grants of these claims and numbers, whose TTLs are equal, to their TTL from now if they
   * still have their locks; returns the number of rows that were changed. Locked rows are left
   * alone.
   *
   * @param claims all of those who share locks, each of another lock; or none of these
   */
  public final int renew(Connection connection, List<StoredClaim> claims, List<Long> numbers)
      throws SQLException {
    Map<String, Object> values = new HashMap<>(StoredClaim.all(claims));
    values.put("numbers", numbers);
    boolean ofReaders = claims.get(0).shared();
    return sql(ofReaders ? LockStatement.RENEW_READERS : LockStatement.RENEW)
        .update(connection, values);
  }

  /**
   * Records in the rows of taken locks that somebody waits, and returns the number of these rows;
   * locked rows are left alone.
   */
  public final int announce(Connection connection, List<String> keys) throws SQLException {
    return sql(LockStatement.ANNOUNCE).update(connection, Map.of("keys", keys));
  }

  /** Does nothing, with all the rights on the table of waiters that waiting needs. */
  public void tryWaiting(Connection connection, StoredClaim claim) throws SQLException {
    sql(LockStatement.TRY_WAITING).update(connection, ofClaim(claim, Protocol.NO_PLACE));
  }

  /** Records that these waiters are alive; returns how many of them there are. */
  public final int keepAlive(Connection connection, List<StoredClaim> waiters) throws SQLException {
    return sql(LockStatement.KEEP_ALIVE).update(connection, StoredClaim.all(waiters));
  }

  /**
   * Deletes these waiters; returns how many rows. Also deletes the waiters for the same locks that
   * died long ago, or each statement about waiters would find them again.
   */
  public final int leave(Connection connection, List<StoredClaim> waiters) throws SQLException {
    return sql(LockStatement.LEAVE).update(connection, StoredClaim.all(waiters));
  }

  // Errors.

  /** Returns the kind of this failure. */
  public abstract Failure failure(SQLException e);

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

  /** Returns where a waiter of this client is notified; empty if the database does not notify. */
  String inbox() {
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
   * a time; {@link Protocol#NONE} if it did nothing.
   */
  long runForReport(Connection connection, Sql sql, Map<String, ?> values) throws SQLException {
    return sql.first(connection, values);
  }

  /** Does {@link #runForReport} for a statement that may notify a waiter. */
  long runForNotified(Connection connection, Sql sql, Map<String, ?> values) throws SQLException {
    return runForReport(connection, sql, values);
  }

  /** Runs a statement by {@link Template#ACQUIRE}. */
  long acquire(Connection connection, Sql sql, Map<String, ?> values) throws SQLException {
    return runForReport(connection, sql, values);
  }

  /** Runs a statement that ends a grant; returns whether it did. */
  boolean end(Connection connection, Sql sql, Map<String, ?> values) throws SQLException {
    return sql.update(connection, values) > 0;
  }

  /**
   * Does {@link #lockRow} unless another transaction has the row locked; returns whether it did.
   */
  final boolean lockIfFree(Connection transaction, String key, int errorIfLocked)
      throws SQLException {
    try {
      sql(LockStatement.SELECT_ROW_NO_WAIT).first(transaction, Map.of("key", key));
    } catch (SQLException e) {
      if (e.getErrorCode() == errorIfLocked) {
        return false; // This error rolls back only the statement.
      }
      throw e;
    }
    lockRow(transaction, key);
    return true;
  }
}
