package io.holdfast.lock.jdbc;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.jdbc.connection.Database;
import io.holdfast.lock.jdbc.connection.Deadlines;
import io.holdfast.lock.jdbc.connection.Lender;
import io.holdfast.lock.jdbc.connection.NoConnectionException;
import io.holdfast.lock.jdbc.connection.Pool;
import io.holdfast.lock.jdbc.connection.Sessions;
import io.holdfast.lock.jdbc.connection.SpareConnection;
import io.holdfast.lock.jdbc.dialect.Attempt;
import io.holdfast.lock.jdbc.dialect.DeadRows;
import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.Listing;
import io.holdfast.lock.jdbc.dialect.Postgres;
import io.holdfast.lock.jdbc.dialect.Row;
import io.holdfast.lock.jdbc.dialect.Standing;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.ClientThreads;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.TimeSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The lock protocol on SQL tables, by the database's clock. There is a {@link Protocol} for each
 * kind of lock. There is one row per waiter of whichever kind.
 *
 * <p>Each statement is a transaction of its own. None waits for a locked row, except those that
 * free a lock.
 */
final class JdbcStore implements LockStore {
  private static final Logger log = LoggerFactory.getLogger(JdbcStore.class);

  /** The timeout of a statement of a purge, which has no client's store timeout. */
  private static final Duration PURGE_STATEMENT_TIMEOUT = Duration.ofSeconds(30);

  private final Database database;
  private final TimeSource time;
  private final Mutexes mutexes;
  private final Permits permits;
  private final Readers readers;
  private final Renewer renewer;
  private final Poller poller;
  private final SpareConnection spare;
  private final Pool pool;

  /**
   * The builder's settings.
   *
   * @param withoutAutoCommit whether the user confirmed that connections without autocommit are in
   *     no transaction
   * @param notifications whether to use PostgreSQL's notifications; null: unless a pooler is in
   *     between
   */
  record Settings(
      DataSource dataSource,
      String table,
      SchemaMode schema,
      boolean withoutAutoCommit,
      @Nullable Boolean notifications) {

    Pool pool(Duration timeout, ClientThreads threads) {
      return new Pool(dataSource, withoutAutoCommit, timeout, threads);
    }

    boolean mayListen() {
      return notifications == null || notifications;
    }

    boolean mayListenBehindPooler() {
      return notifications != null && notifications;
    }
  }

  private JdbcStore(
      Database database,
      Pool pool,
      SpareConnection spare,
      Settings mine,
      TimeSource time,
      ClientThreads threads) {
    this.database = database;
    this.pool = pool;
    this.spare = spare;
    this.time = time;
    readers = new Readers(database);
    mutexes = new Mutexes(database, readers);
    renewer = new Renewer(database, readers.rows());
    poller = new Poller(
        database,
        time,
        threads,
        database.dialect() instanceof Postgres postgres && mine.mayListen()
            ? new PostgresListener(postgres, database, mine.mayListenBehindPooler(), threads)
            : null);
    permits = new Permits(database, poller, time);
  }

  /**
   * Opens the store for one client.
   *
   * @throws IllegalStateException the table or the data source is not fit for use
   */
  static JdbcStore open(Settings settings, StoreSettings storeSettings) throws StoreException {
    Duration timeout = storeSettings.storeTimeout();
    ClientThreads threads = new ClientThreads(storeSettings.clientName());
    Pool pool = settings.pool(timeout, threads);
    SpareConnection spare = new SpareConnection(pool, timeout);
    boolean opened = false;
    try {
      Deadline deadline = Deadlines.after(timeout);
      Dialect dialect = detect(spare, deadline, settings.table());
      prepare(pool, deadline, dialect, settings.schema());
      Database database = new Database(dialect, pool, spare, timeout);
      if (settings.schema() != SchemaMode.NONE) {
        Trial.run(database);
      }
      JdbcStore store =
          new JdbcStore(database, pool, spare, settings, storeSettings.time(), threads);
      opened = true;
      return store;
    } finally {
      if (!opened) {
        pool.close();
        spare.close();
      }
    }
  }

  /** Detects the database, on the client's own connection, which is opened here. */
  private static Dialect detect(Lender lender, Deadline deadline, String table)
      throws StoreException {
    try {
      Connection connection = lender.lend(deadline);
      boolean usable = false;
      try {
        Dialect dialect = Sessions.run(connection, deadline, c -> Dialect.of(c, table));
        usable = true;
        return dialect;
      } finally {
        lender.giveBack(connection, usable);
      }
    } catch (NoConnectionException e) {
      throw failed(e);
    } catch (SQLException e) {
      throw StoreException.refused("The database gave no usable answer: " + e, e);
    }
  }

  /** Prepares the tables on a second connection, which also shows that the pool has one. */
  private static void prepare(Pool pool, Deadline deadline, Dialect dialect, SchemaMode mode)
      throws StoreException {
    Connection connection;
    try {
      connection = pool.lend(deadline);
    } catch (NoConnectionException e) {
      if (e.isMisuse()) {
        throw failed(e);
      }
      throw StoreException.refused(
          "The data source gave one connection and no second one within "
              + deadline.whole()
              + ". Either the database is out of reach since, or the pool is too small: a client keeps"
              + " one for the renewal of leases, so it must have at least 2, better 2 more than the"
              + " application needs",
          e);
    }
    try {
      Sessions.run(connection, deadline, c -> {
        Schema.prepare(c, dialect, mode);
        return true;
      });
    } catch (SQLException e) {
      throw StoreException.refused("The table could not be checked: " + e, e);
    } finally {
      pool.giveBack(connection, true);
    }
  }

  private static StoreException failed(NoConnectionException e) {
    if (e.isMisuse()) {
      throw new IllegalStateException(e.getMessage(), e);
    }
    return e.toStoreException();
  }

  @Override
  public void checkOptions(LockOptions options) {
    // Everything that the engine allows is supported: a row can hold any name, and times to the
    // microsecond.
  }

  @Override
  public void checkKind(LockKind kind) {
    // There is a protocol for each.
  }

  private Protocol protocol(LockKey key) {
    return switch (key.kind()) {
      case MUTEX -> mutexes;
      case PERMIT -> permits;
      case READ -> readers;
    };
  }

  @Override
  public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
    return protocol(claim.key()).attempt(claim) instanceof Protocol.Attempted.Taken taken
        ? Optional.of(taken.grant())
        : Optional.empty();
  }

  @Override
  public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
    long askedNanos = time.nanos();
    Protocol protocol = protocol(claim.key());
    Optional<Waiter> before = poller.before(claim);
    if (before.isPresent()) {
      // Behind a thread of this client, which announces that somebody waits.
      return queue(protocol, askedNanos, claim, false, before.get().holder().orElse(""), wakeUp);
    }
    Protocol.Attempted attempted = protocol.attempt(claim);
    if (attempted instanceof Protocol.Attempted.Taken taken) {
      return new Acquisition.Granted(taken.grant());
    }
    Row row = ((Protocol.Attempted.Busy) attempted).row();
    return queue(protocol, askedNanos, claim, Poller.isToBeAnnounced(row), row.holder(), wakeUp);
  }

  private Acquisition queue(
      Protocol protocol,
      long askedNanos,
      Claim claim,
      boolean announces,
      String holder,
      Runnable wakeUp)
      throws StoreException {
    Attempt attempt = Keys.attempt(claim);
    // Sent on its own: if it were repeated with another statement that failed, it would join twice.
    long place = database.onPool(database.deadline(), (d, c) -> d.join(c, attempt));
    if (announces) {
      announce(protocol, claim);
    }
    Waiter waiter = new Waiter(protocol, poller, time, askedNanos, claim, place, wakeUp, holder);
    poller.join(waiter);
    return new Acquisition.Queued(waiter, Waiter.RECHECK_AFTER);
  }

  private static void announce(Protocol protocol, Claim claim) {
    try {
      protocol.announce(protocol.announcedRows(claim), false);
    } catch (StoreException e) {
      log.debug("A waiter could not be announced; its first look announces it", e);
    }
  }

  @Override
  public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
    JdbcGrant given = (JdbcGrant) grant;
    return protocol(grant.claim().key()).release(given, Keys.microsUp(holdFor))
        ? ReleaseOutcome.RELEASED
        : ReleaseOutcome.ALREADY_LOST;
  }

  @Override
  public void withdraw(Claim claim) throws StoreException {
    protocol(claim.key()).withdraw(claim);
  }

  /** All grants are one group: there is one database, and no row can delay the others. */
  @Override
  public Object renewalGroup(Grant grant) {
    return this;
  }

  @Override
  public List<Renewal> renew(List<Grant> grants) throws StoreException {
    return renewer.renew(grants);
  }

  @Override
  public Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException {
    return renewer.extend((JdbcGrant) grant, ttl);
  }

  @Override
  public Optional<Duration> verify(Grant grant) throws StoreException {
    JdbcGrant given = (JdbcGrant) grant;
    return look(given.key())
        .filter(row -> row.isHeldBy(given.claim().ownerId(), given.number()))
        .map(row -> Keys.duration(row.remainingMicros()));
  }

  @Override
  public Optional<StoredHolder> inspect(LockKey key) throws StoreException {
    return holders(key).stream().findFirst();
  }

  @Override
  public List<StoredHolder> holders(LockKey key) throws StoreException {
    return key.kind() == LockKind.PERMIT ? permits.holders(key) : mutexes.holders(key);
  }

  /** Reads a range of the index, page by page, so that each statement is short. */
  @Override
  public List<StoredLock> list(LockKind kind, String namePrefix, int limit) throws StoreException {
    Deadline deadline = database.deadline();
    String prefix = Keys.prefix(kind, namePrefix);
    String end = Keys.above(prefix);
    Listing listing = new Listing(database.dialect());
    List<StoredLock> held = new ArrayList<>();
    String from = prefix;
    while (from != null && held.size() < limit) {
      if (deadline.isOver()) {
        throw StoreException.refused(
            "The names that begin with '"
                + namePrefix
                + "' could not all be looked at within "
                + deadline.whole()
                + ": list with a longer prefix, purge names that are no longer used, or build the"
                + " client with a longer storeTimeout",
            null);
      }
      String first = from;
      Page page = database.onPool(deadline, (d, c) -> {
        String next = listing.next(c, first, end);
        int most = limit - held.size();
        return new Page(listing.held(c, first, next == null ? end : next, most), next);
      });
      for (Standing standing : page.held()) {
        Row row = standing.row();
        LockKey key = Keys.parse(kind, row.key());
        Optional<StoredHolder> holder = row.isRead()
            ? readers.holders(key).stream().findFirst()
            : Optional.of(Mutexes.holder(row, 0));
        holder.ifPresent(
            each -> held.add(new StoredLock(key, each, OptionalInt.of(standing.ahead()))));
      }
      from = page.next();
    }
    return held;
  }

  /**
   * The taken locks in a part of the range.
   *
   * @param next the name at which the next part begins; null if this is the last one
   */
  private record Page(List<Standing> held, @Nullable String next) {}

  private Optional<Row> look(String key) throws StoreException {
    return database.onPool(database.deadline(), (d, c) -> d.look(c, List.of(key))).stream()
        .findFirst();
  }

  @Override
  public boolean forceRelease(LockKey key, long number) throws StoreException {
    return key.kind() == LockKind.PERMIT
        ? permits.forceRelease(key, number)
        : mutexes.forceRelease(key, number);
  }

  @Override
  public void close() {
    poller.close();
    spare.close();
    pool.close();
  }

  /**
   * Deletes dead rows, some hundred at a time; each row is checked again by the statement that
   * deletes it.
   */
  static long purge(Settings settings, Duration unusedFor) throws StoreException {
    try (Pool pool = settings.pool(PURGE_STATEMENT_TIMEOUT, new ClientThreads("purge"))) {
      Dialect dialect = detect(pool, Deadlines.after(PURGE_STATEMENT_TIMEOUT), settings.table());
      prepare(pool, Deadlines.after(PURGE_STATEMENT_TIMEOUT), dialect, SchemaMode.VALIDATE);
      Database database = new Database(
          dialect,
          pool,
          new SpareConnection(pool, PURGE_STATEMENT_TIMEOUT), // Not used by a purge.
          PURGE_STATEMENT_TIMEOUT);
      DeadRows rows = new DeadRows(dialect, Keys.micros(unusedFor));
      long deleted = 0;
      String after = null;
      while (true) {
        String last = after;
        List<String> dead = database.onPool(database.deadline(), (d, c) -> rows.list(c, last));
        if (dead.isEmpty()) {
          database.onPool(database.deadline(), (d, c) -> rows.deleteWaiters(c));
          return deleted;
        }
        deleted += database.onPool(database.deadline(), (d, c) -> rows.delete(c, dead));
        after = dead.get(dead.size() - 1);
      }
    }
  }
}
