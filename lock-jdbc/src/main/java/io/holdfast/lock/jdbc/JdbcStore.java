package io.holdfast.lock.jdbc;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.jdbc.connection.Database;
import io.holdfast.lock.jdbc.connection.Deadlines;
import io.holdfast.lock.jdbc.connection.Lender;
import io.holdfast.lock.jdbc.connection.Lent;
import io.holdfast.lock.jdbc.connection.OwnConnection;
import io.holdfast.lock.jdbc.connection.Pool;
import io.holdfast.lock.jdbc.connection.SameDatabase;
import io.holdfast.lock.jdbc.connection.Sessions;
import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.Listing;
import io.holdfast.lock.jdbc.dialect.Postgres;
import io.holdfast.lock.jdbc.dialect.Product;
import io.holdfast.lock.jdbc.dialect.Protocol;
import io.holdfast.lock.jdbc.dialect.Row;
import io.holdfast.lock.jdbc.dialect.Standing;
import io.holdfast.lock.jdbc.dialect.StoredClaim;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.PermitStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.StoredPermit;
import io.holdfast.lock.spi.TimeSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * The lock protocol on SQL tables, by the database's clock. Each lock has a row. One conditional
 * update takes the lock, and another frees it. Each waiter has a row too, and a release hands the
 * lock over to the first waiter. PostgreSQL notifies its client; elsewhere the client's
 * {@link Poller} finds it, also if both are of one client.
 *
 * <p>Each statement is a transaction of its own. None is sent that would wait for a guarded
 * transaction: a grant that had a guard is released by a hand-over, which passes over locked rows;
 * so do the statements about permits; and what waits is about readers, who have no guards.
 */
final class JdbcStore implements PermitStore {
  /** The most retries of an acquire to see a row that is there. */
  static final int UNSEEN_MAX = 10;

  /** The timeout of each statement of a purge, which has no client and so no store timeout. */
  private static final Duration PURGE_STATEMENT_TIMEOUT = Duration.ofSeconds(30);

  final Database database;
  private final Dialect dialect;
  final TimeSource time;
  private final Grants grants;
  private final ReaderEntries readers;
  final PermitEntries permits;
  final Poller poller;

  /**
   * The builder's settings.
   *
   * @param withoutAutoCommit whether the user confirmed that connections without autocommit are in
   *     no transaction
   * @param notifications whether to use PostgreSQL's notifications; null to use them unless a
   *     pooler is in between
   */
  record Settings(
      DataSource dataSource,
      String table,
      SchemaMode schema,
      boolean withoutAutoCommit,
      @Nullable Boolean notifications) {

    Pool pool(Duration timeout, String clientName) {
      return new Pool(dataSource, withoutAutoCommit, timeout, clientName);
    }
  }

  private JdbcStore(Database database, Settings settings, StoreSettings storeSettings) {
    this.database = database;
    dialect = database.dialect();
    time = storeSettings.time();
    grants = new Grants(database);
    readers = new ReaderEntries(database);
    permits = new PermitEntries(database);
    String threads = "holdfast-" + storeSettings.clientName();
    poller = new Poller(database, time, threads + "-poller", listener(settings, threads));
  }

  /** Returns the listener to notifications; null if there are none. */
  private @Nullable PostgresListener listener(Settings settings, String threads) {
    if (!(dialect instanceof Postgres postgres)) {
      return null;
    }
    if (Boolean.FALSE.equals(settings.notifications())) {
      postgres.leaveUnnotified();
      return null;
    }
    return new PostgresListener(
        postgres, database, Boolean.TRUE.equals(settings.notifications()), threads + "-listener");
  }

  /**
   * Opens the store for one client.
   *
   * @throws IllegalStateException the table or the data source is not fit for use
   */
  static JdbcStore open(Settings settings, StoreSettings storeSettings) throws StoreException {
    Duration timeout = storeSettings.storeTimeout();
    Pool pool = settings.pool(timeout, storeSettings.clientName());
    OwnConnection ownConnection = new OwnConnection(pool, timeout);
    try {
      SameDatabase prepared =
          prepare(ownConnection, pool, timeout, settings.table(), settings.schema());
      Database database = new Database(prepared, pool, ownConnection, timeout);
      if (settings.schema() != SchemaMode.NONE) {
        Trial.run(database);
      }
      return new JdbcStore(database, settings, storeSettings);
    } catch (Throwable e) {
      pool.close();
      ownConnection.close();
      throw e;
    }
  }

  /**
   * Detects the database on one connection, and prepares the tables on another one. A client's own
   * connection, as {@code first}, stays out of the pool meanwhile, so a pool of only one fails here
   * and not at the first renewal.
   *
   * @throws IllegalStateException the table or the data source is not fit for use
   */
  private static SameDatabase prepare(
      Lender first, Pool second, Duration timeout, String table, SchemaMode mode)
      throws StoreException {
    Dialect dialect = ask(
        first.lend(Deadlines.after(timeout)),
        second,
        timeout,
        c -> Product.of(c).dialect(table));
    Deadline deadline = Deadlines.after(timeout);
    Lent lent;
    try {
      lent = second.lend(deadline);
    } catch (StoreException e) {
      throw StoreException.refused(
          ("The data source gave one connection and no second one within %s. Either the database is"
                  + " out of reach since, or the pool is too small: a client keeps one for the"
                  + " renewal of leases, so it must have at least 2, better 2 more than the"
                  + " application needs: %s")
              .formatted(deadline.whole(), e.getMessage()),
          e);
    }
    return ask(lent, second, timeout, c -> {
      Schema.Tables tables = Schema.prepare(c, dialect, mode);
      return new SameDatabase(
          Product.of(c).dialect(tables.name()), tables.id(), SameDatabase.url(c));
    });
  }

  /**
   * Asks; each answer may take this long.
   *
   * @throws IllegalStateException the data source is not fit for use
   */
  private static <T> T ask(Lent lent, Pool pool, Duration timeout, Sessions.Call<T> question)
      throws StoreException {
    try (lent) {
      pool.check(lent);
      try {
        T answer = Sessions.run(lent.connection(), Deadlines.after(timeout), question);
        lent.markUsable();
        return answer;
      } catch (IllegalStateException e) {
        lent.markUsable(); // What the database answered is wrong, not the connection.
        throw e;
      }
    } catch (SQLException e) {
      throw StoreException.refused("The database gave no usable answer: " + e, e);
    } catch (StoreException e) {
      if (e.getCause() instanceof IllegalStateException unfit) {
        throw unfit;
      }
      throw e;
    }
  }

  @Override
  public void checkOptions(LockOptions options) {
    // Everything that the engine allows is supported: a row can hold any name, and times to the
    // microsecond.
  }

  /**
   * One statement, if nobody else has the row locked or stands in line; one more if there is no row
   * yet. While the lock is free but its row is locked, by others who take it and free it, looks
   * again. If it stays locked, that is a failure: nobody is seen to have the lock.
   */
  @Override
  public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
    if (claim.mode() instanceof Claim.Permit) {
      return permits.tryEnter(claim).map(grant -> grant);
    }
    Deadline deadline = database.deadline();
    StoredClaim stored = Keys.stored(claim);
    long answer = database.onPool(deadline, c -> acquire(c, stored, dialect::acquire, deadline));
    for (int tries = 1; answer == Protocol.UNSURE; tries++) {
      List<Standing> seen =
          database.onPool(deadline, c -> dialect.readStandings(c, List.of(stored)));
      if (seen.isEmpty()) {
        if (tries > UNSEEN_MAX) {
          throw unseen(dialect);
        }
        answer = database.onPool(deadline, c -> acquire(c, stored, dialect::acquire, deadline));
        continue;
      }
      if (!seen.get(0).admits(stored)) {
        return Optional.empty();
      }
      if (!Deadlines.pause(deadline, tries - 1)) {
        throw Grants.locked();
      }
      long number = database.onPool(deadline, c -> dialect.take(c, stored, Protocol.NO_PLACE));
      answer = number == Protocol.NONE ? Protocol.UNSURE : number;
    }
    return Protocol.isGrant(answer)
        ? Optional.of(JdbcGrant.of(database, claim, stored, answer, claim.ttl(), false))
        : Optional.empty();
  }

  /** Makes the exception for a row that is there and can't be read. */
  static StoreException unseen(Dialect dialect) {
    return StoreException.refused(
        ("The lock's row is there, and is not seen: %s is behind something that sends reads to"
                + " another server than writes. Pass a data source that sends all to the primary")
            .formatted(dialect.database()),
        null);
  }

  @Override
  public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
    long askedNanos = time.nanos();
    Deadline deadline = database.deadline();
    StoredClaim stored = Keys.stored(claim);
    Joined joined = database.onPool(deadline, c -> {
      AcquireOutcome outcome = claim.mode() instanceof Claim.Permit
          ? permits.enterOrWait(c, deadline, claim, stored)
          : acquireOrAnnounce(c, claim, stored, deadline);
      // If the lock is free all the same, the first poll finds that.
      long place = outcome.mayWait()
          ? Sessions.next(c, deadline, same -> dialect.join(same, stored))
          : Protocol.NO_PLACE;
      return new Joined(outcome, place);
    });
    if (!joined.outcome().mayWait()) {
      return new Acquisition.Granted(joined.outcome().orRefused().orElseThrow());
    }
    JdbcTicket ticket = new JdbcTicket(this, askedNanos, claim, stored, joined.place(), wakeUp);
    poller.join(ticket);
    return new Acquisition.Queued(ticket, poller.recheckAfter());
  }

  /**
   * The outcome of {@link #acquireOrQueue}.
   *
   * @param place the place of a claim that waits
   */
  private record Joined(AcquireOutcome outcome, long place) {}

  private AcquireOutcome acquireOrAnnounce(
      Connection connection, Claim claim, StoredClaim stored, Deadline deadline)
      throws SQLException {
    long answer = acquire(connection, stored, dialect::acquireOrAnnounce, deadline);
    return Protocol.isGrant(answer)
        ? AcquireOutcome.granted(JdbcGrant.of(database, claim, stored, answer, claim.ttl(), false))
        : AcquireOutcome.TAKEN;
  }

  /** {@link Dialect#acquire}, or {@link Dialect#acquireOrAnnounce}. */
  @FunctionalInterface
  private interface Acquire {
    long on(Connection connection, StoredClaim claim) throws SQLException;
  }

  /**
   * Takes the lock, or tells why not; inserts its row if there is none. Two statements at most. The
   * insert, once in a name's life, has a store timeout of its own: with the check of the pool it is
   * the third wait for the server, and a database that is slow would fail each new name.
   */
  private long acquire(
      Connection connection, StoredClaim stored, Acquire acquire, Deadline deadline)
      throws SQLException {
    if (stored.shared()) {
      return readers.acquire(connection, stored, deadline);
    }
    long answer = acquire.on(connection, stored);
    if (answer != Protocol.NONE) {
      return answer;
    }
    long number =
        Sessions.next(connection, database.deadline(), same -> dialect.insert(same, stored));
    return number == Protocol.NONE ? Protocol.UNSURE : number;
  }

  /**
   * Takes the lock for a waiter in its line, or accepts it if it was handed over, or if an earlier
   * try got it and its answer was lost.
   *
   * @param reopens whether to do {@link Dialect#reopenLine} before
   */
  Optional<JdbcGrant> acceptOrTake(JdbcTicket ticket, boolean reopens) throws StoreException {
    Deadline deadline = database.deadline();
    Claim claim = ticket.claim;
    StoredClaim stored = ticket.stored;
    long place = ticket.place;
    if (reopens) {
      database.onPool(deadline, c -> dialect.reopenLine(c, stored.key(), place));
    }
    if (stored.isForPermit()) {
      return permits.enterFromLine(deadline, ticket);
    }
    if (stored.shared()) {
      return readers.acceptOrEnter(deadline, claim, stored, place);
    }
    long number = database.untilAnswered(
        deadline, () -> database.onPool(deadline, c -> dialect.take(c, stored, place)));
    return number == Protocol.NONE
        ? Optional.empty()
        : Optional.of(JdbcGrant.of(database, claim, stored, number, claim.ttl(), true));
  }

  @Override
  public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
    JdbcGrant given = (JdbcGrant) grant;
    if (!grants.release(given, holdFor)) {
      return ReleaseOutcome.ALREADY_LOST;
    }
    if (given.stored().isForPermit() && holdFor.isZero()) {
      permits.guesses.noteFree(given.claim().key().name(), given.permit());
    }
    return ReleaseOutcome.RELEASED;
  }

  @Override
  public void withdraw(Claim claim) throws StoreException {
    grants.withdraw(Keys.stored(claim));
  }

  /**
   * Returns the same group for all: there is one database, and a locked row delays others little.
   */
  @Override
  public Object renewalGroup(Grant grant) {
    return this;
  }

  @Override
  public List<Renewal> renew(List<Grant> due) throws StoreException {
    return grants.renew(due);
  }

  @Override
  public Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException {
    return grants.extend((JdbcGrant) grant, ttl);
  }

  @Override
  public Optional<Duration> verify(Grant grant) throws StoreException {
    JdbcGrant given = (JdbcGrant) grant;
    return readRow(given.stored().key())
        .flatMap(row -> row.held(given.stored(), given.number()))
        .map(held -> Keys.duration(held.remainingMicros()));
  }

  @Override
  public Optional<StoredHolder> inspect(LockKey key) throws StoreException {
    return readRow(Keys.of(key)).filter(row -> !row.isFree()).flatMap(Holders::holder);
  }

  @Override
  public List<StoredHolder> readers(LockKey key) throws StoreException {
    return readRow(Keys.of(key)).map(Holders::readers).orElse(List.of());
  }

  @Override
  public List<StoredPermit> holders(LockKey key) throws StoreException {
    return readRow(Keys.of(key)).map(Holders::permits).orElse(List.of());
  }

  @Override
  public List<StoredLock> list(LockKind kind, String namePrefix, int limit) throws StoreException {
    return new Holders(database).list(kind, namePrefix, limit);
  }

  private Optional<Row> readRow(String key) throws StoreException {
    return readRow(database.deadline(), key);
  }

  private Optional<Row> readRow(Deadline deadline, String key) throws StoreException {
    return database.untilAnswered(
        deadline, () -> database.onPool(deadline, c -> dialect.readRow(c, key)));
  }

  @Override
  public boolean forceRelease(LockKey key, long number) throws StoreException {
    return grants.forceRelease(Keys.of(key), number);
  }

  @Override
  public void close() {
    try {
      poller.close();
    } finally {
      database.close();
    }
  }

  /**
   * Deletes the rows of locks, a batch at a time, and then those of waiters, that were unused for
   * this time. The statement that deletes a lock's row checks it again. Returns the number of
   * locks.
   */
  static long purge(Settings settings, Duration unusedFor) throws StoreException {
    try (Pool pool = settings.pool(PURGE_STATEMENT_TIMEOUT, "purge")) {
      SameDatabase prepared =
          prepare(pool, pool, PURGE_STATEMENT_TIMEOUT, settings.table(), SchemaMode.VALIDATE);
      OwnConnection unused = new OwnConnection(pool, PURGE_STATEMENT_TIMEOUT);
      Database database = new Database(prepared, pool, unused, PURGE_STATEMENT_TIMEOUT);
      Listing listing = new Listing(database.dialect());
      long unusedMicros = Keys.micros(unusedFor);
      long deleted = 0;
      String after = "";
      while (true) {
        String last = after;
        List<String> names =
            database.onPool(database.deadline(), c -> listing.listUnused(c, last, unusedMicros));
        if (names.isEmpty()) {
          database.onPool(database.deadline(), c -> listing.deleteUnusedWaiters(c, unusedMicros));
          return deleted;
        }
        deleted +=
            database.onPool(database.deadline(), c -> listing.deleteUnused(c, names, unusedMicros));
        after = names.get(names.size() - 1);
      }
    }
  }
}
