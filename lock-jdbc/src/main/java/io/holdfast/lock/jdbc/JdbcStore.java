package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.dialect.Attempt;
import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.Postgres;
import io.holdfast.lock.jdbc.dialect.Row;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.StoredHolder;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import javax.sql.DataSource;

/**
 * The protocol on a SQL table: one row per lock, taken and freed by one conditional update each, by
 * the database's clock.
 *
 * <p>Each statement is a transaction of its own. None waits for a row that somebody has locked,
 * except those that free one.
 */
final class JdbcStore implements LockStore {
  /**
   * How often an acquire looks again at a row that is free, but locked by somebody at the moment.
   */
  private static final int LOCKED_TRIES = 4;

  /** For administration without a client, whose own timeout does not matter. */
  private static final Duration PURGE_STATEMENT_TIMEOUT = Duration.ofSeconds(30);

  private final Database database;
  private final Renewer renewer;
  private final Poller poller;
  private final SpareConnection spare;
  private final Pool pool;

  /**
   * What the builder knows.
   *
   * @param withoutAutoCommit whether connections without autocommit are the pool's own
   */
  record Settings(
      DataSource dataSource, String table, SchemaMode schema, boolean withoutAutoCommit) {}

  private JdbcStore(Database database, Pool pool, SpareConnection spare, StoreSettings settings) {
    this.database = database;
    this.pool = pool;
    this.spare = spare;
    renewer = new Renewer(database);
    String threads = "holdfast-" + settings.clientName();
    poller = new Poller(
        database,
        settings.time(),
        threads + "-poller",
        database.dialect() instanceof Postgres postgres
            ? new PostgresListener(postgres, database, threads + "-listener")
            : null);
  }

  /**
   * Opens the store for one client.
   *
   * @throws IllegalStateException the table or the data source is not fit for use
   */
  static JdbcStore open(Settings settings, StoreSettings storeSettings) throws StoreException {
    Pool pool = new Pool(
        settings.dataSource(),
        settings.withoutAutoCommit(),
        storeSettings.storeTimeout(),
        storeSettings.clientName());
    JdbcStore store = null;
    try {
      store = open(
          settings, storeSettings, pool, new SpareConnection(pool, storeSettings.storeTimeout()));
      return store;
    } finally {
      if (store == null) {
        pool.close();
      }
    }
  }

  private static JdbcStore open(
      Settings settings, StoreSettings storeSettings, Pool pool, SpareConnection spare)
      throws StoreException {
    Duration timeout = storeSettings.storeTimeout();
    boolean opened = false;
    try {
      Budget budget = Budget.of(timeout);
      Dialect dialect = detect(spare, budget, settings.table());
      prepare(pool, budget, dialect, settings.schema());
      opened = true;
      return new JdbcStore(new Database(dialect, pool, spare, timeout), pool, spare, storeSettings);
    } finally {
      if (!opened) {
        spare.close();
      }
    }
  }

  /** Detects the database; on the client's own connection, which is opened by that. */
  private static Dialect detect(Lender lender, Budget budget, String table) throws StoreException {
    try {
      Connection connection = lender.lend(budget);
      boolean usable = false;
      try {
        Dialect dialect = Sessions.run(connection, budget, c -> Dialect.of(c, table));
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

  /** Prepares the table on a second connection, which shows that the pool has one. */
  private static void prepare(Pool pool, Budget budget, Dialect dialect, SchemaMode mode)
      throws StoreException {
    Connection connection;
    try {
      connection = pool.lend(budget);
    } catch (NoConnectionException e) {
      if (e.isMisuse()) {
        throw failed(e);
      }
      throw StoreException.refused(
          "The data source gave one connection and no second one within "
              + budget.whole()
              + ". Either the database is out of reach since, or the pool is too small: a client keeps"
              + " one for the renewal of leases, so it must have at least 2, better 2 more than the"
              + " application needs",
          e);
    }
    try {
      Sessions.run(connection, budget, c -> {
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
    return StoreException.refused(String.valueOf(e.getMessage()), e);
  }

  @Override
  public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
    return attempt(claim) instanceof Attempted.Taken taken
        ? Optional.of(taken.grant())
        : Optional.empty();
  }

  @Override
  public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
    PollTicket ticket = new PollTicket(this, poller, claim, wakeUp);
    if (!poller.isYielding(Keys.of(claim.key()))) {
      Attempted attempted = attempt(claim);
      if (attempted instanceof Attempted.Taken taken) {
        return new Acquisition.Granted(taken.grant());
      }
      ticket.sawHolder(((Attempted.Busy) attempted).row().holder());
    }
    poller.join(ticket);
    return new Acquisition.Queued(ticket, PollTicket.RECHECK_AFTER);
  }

  /** What an attempt found. */
  sealed interface Attempted {
    /** The lock is the claim's. */
    record Taken(JdbcGrant grant) implements Attempted {}

    /** Somebody has it, or has its row locked. */
    record Busy(Row row) implements Attempted {}
  }

  /** Tries on a connection of the pool. */
  private Attempted attempt(Claim claim) throws StoreException {
    return attempt(claim, database::onPool);
  }

  /** Tries for a claim that the poller has woken, on the connection that the poller looks with. */
  Attempted attemptAgain(Claim claim) throws StoreException {
    return attempt(claim, database::onSpareOrPool);
  }

  /** On which connection a number is asked for. */
  @FunctionalInterface
  private interface Way {
    long ask(Budget budget, Database.Question<Long> question) throws StoreException;
  }

  /** Takes the lock if it is free: one statement if it is, and has been used before. */
  private Attempted attempt(Claim claim, Way way) throws StoreException {
    Budget budget = database.budget();
    Attempt attempt = Keys.attempt(claim);
    for (int tries = 1; ; tries++) {
      long number = way.ask(budget, (d, c) -> d.acquire(c, attempt));
      if (number == Dialect.NONE) {
        List<String> key = List.of(attempt.key());
        List<Row> rows = database.onPool(budget, (d, c) -> d.look(c, key));
        if (!rows.isEmpty()) {
          Row row = rows.get(0);
          if (!row.isFree() || tries >= LOCKED_TRIES || !budget.pause(tries)) {
            return new Attempted.Busy(row);
          }
          continue;
        }
        number = database.onPool(budget, (d, c) -> d.insert(c, attempt));
      }
      if (number != Dialect.NONE) {
        return new Attempted.Taken(new JdbcGrant(claim, number, database.dialect()));
      }
    }
  }

  @Override
  public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
    JdbcGrant given = (JdbcGrant) grant;
    String key = given.key();
    long holdMicros = Keys.microsUp(holdFor);
    long wantedMicros = database.onPoolOrSpare(
        database.budget(),
        (d, c) -> d.release(c, key, given.claim().ownerId(), given.number(), holdMicros));
    if (wantedMicros == Dialect.NOT_OWNER) {
      return ReleaseOutcome.ALREADY_LOST;
    }
    if (wantedMicros > 0 && holdMicros == 0) {
      poller.yieldFor(key, given.number(), wantedMicros);
    }
    return ReleaseOutcome.RELEASED;
  }

  @Override
  public void withdraw(Claim claim) throws StoreException {
    String key = Keys.of(claim.key());
    database.onPoolOrSpare(database.budget(), (d, c) -> {
      d.withdraw(c, key, claim.ownerId());
      return true;
    });
  }

  /** There is one database, and no row can hold up the others. */
  @Override
  public Object renewalGroup(Grant grant) {
    return this;
  }

  @Override
  public List<Renewal> renew(List<Grant> grants) throws StoreException {
    return renewer.renew(grants);
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
    return look(Keys.of(key))
        .filter(row -> !row.isFree())
        .map(row -> new StoredHolder(
            row.number(),
            row.holder(),
            Keys.duration(row.remainingMicros()),
            row.owner().isEmpty()));
  }

  private Optional<Row> look(String key) throws StoreException {
    return database.onPool(database.budget(), (d, c) -> d.look(c, List.of(key))).stream()
        .findFirst();
  }

  @Override
  public boolean forceRelease(LockKey key, long number) throws StoreException {
    return database.onPoolOrSpare(
        database.budget(), (d, c) -> d.forceRelease(c, Keys.of(key), number));
  }

  @Override
  public void close() {
    poller.close();
    spare.close();
    pool.close();
  }

  /** Deletes dead rows, some hundred at a time, each looked at again as it is deleted. */
  static long purge(Settings settings, Duration unusedFor) throws StoreException {
    long unusedMicros = Keys.micros(unusedFor);
    try (Pool pool = new Pool(
        settings.dataSource(), settings.withoutAutoCommit(), PURGE_STATEMENT_TIMEOUT, "purge")) {
      Dialect dialect = detect(pool, Budget.of(PURGE_STATEMENT_TIMEOUT), settings.table());
      prepare(pool, Budget.of(PURGE_STATEMENT_TIMEOUT), dialect, SchemaMode.VALIDATE);
      Database database = new Database(dialect, pool, pool, PURGE_STATEMENT_TIMEOUT);
      long deleted = 0;
      String after = null;
      while (true) {
        String last = after;
        List<String> dead =
            database.onPool(database.budget(), (d, c) -> d.listDead(c, last, unusedMicros));
        if (dead.isEmpty()) {
          return deleted;
        }
        deleted +=
            database.onPool(database.budget(), (d, c) -> d.deleteDead(c, dead, unusedMicros));
        after = dead.get(dead.size() - 1);
      }
    }
  }
}
