package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.connection.Database;
import io.holdfast.lock.jdbc.connection.Deadlines;
import io.holdfast.lock.jdbc.connection.Sessions;
import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.PermitStatements;
import io.holdfast.lock.jdbc.dialect.Protocol;
import io.holdfast.lock.jdbc.dialect.Reader;
import io.holdfast.lock.jdbc.dialect.ReaderStatements;
import io.holdfast.lock.jdbc.dialect.Row;
import io.holdfast.lock.jdbc.dialect.StoredClaim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Renews, extends and ends grants. A row that a guarded transaction has locked is tried again. But
 * for the release of a lease that nobody guarded here, and of a reader's, no statement waits for it
 * at the database, since a waiting statement could outlive its client.
 *
 * <p>Up to {@value Protocol#BATCH_MAX} grants are renewed with one statement. If it extended fewer,
 * a second one reads which of them still stand.
 *
 * <p>Threads: safe for use by any number of threads.
 */
final class Grants {
  private static final Logger log = LoggerFactory.getLogger(Grants.class);

  /**
   * The number of tries to renew a grant whose row is locked; a client that tries to take a lock
   * locks its row for a moment.
   */
  private static final int LOCKED_TRIES = 5;

  /**
   * The same for a reader or a permit, whose row can be locked nearly all the time, by those who
   * enter and leave. Takes about 700 ms.
   */
  private static final int LOCKED_SHARED_TRIES = 20;

  /** Tries to renew grants whose rows are locked take at most a TTL divided by this. */
  private static final int SHARE_OF_LOCKED = 8;

  /**
   * The tolerance in telling whether a row was extended. Its time left should then be at least the
   * TTL less the time that has passed, but those are measured by two clocks.
   */
  private static final long SLACK_MICROS = 2_000;

  /** An answer within the TTL divided by this is prompt: the engine's drift allowance covers it. */
  private static final int PROMPT_DIVISOR = 100;

  /** The number of tries, milliseconds apart, to hand a lock over to the first waiter. */
  private static final int FIRST_WAITER_TRIES = 8;

  private final Database database;
  private final Dialect dialect;
  private final ReaderStatements readers;
  private final PermitStatements permits;

  Grants(Database database) {
    this.database = database;
    dialect = database.dialect();
    readers = new ReaderStatements(dialect);
    permits = new PermitStatements(dialect);
  }

  /** Renews grants; returns one result for each, in order. */
  List<Renewal> renew(List<Grant> grants) throws StoreException {
    Deadline deadline = database.deadline();
    Deadline patience = Deadlines.part(deadline, 2); // For the pool, in all tries together.
    IdentityHashMap<Grant, Renewal> results = new IdentityHashMap<>();
    List<List<JdbcGrant>> locked = new ArrayList<>();
    int unanswered = 0;
    for (List<JdbcGrant> group : renewedTogether(grants)) {
      for (int from = 0; from < group.size(); from += Protocol.BATCH_MAX) {
        List<JdbcGrant> batch =
            group.subList(from, Math.min(group.size(), from + Protocol.BATCH_MAX));
        try {
          locked.add(renewOnce(batch, results, patience, deadline));
        } catch (StoreException e) {
          unanswered += batch.size();
          if (unanswered == grants.size()) {
            throw e;
          }
          batch.forEach(grant -> results.put(grant, new Renewal.Unknown(e)));
        }
      }
    }
    // After all others, which are not to wait for these.
    renewLocked(locked, results, patience, deadline, shortestTtl(grants));
    return grants.stream().map(results::get).toList();
  }

  /**
   * The common properties of grants that one statement renews.
   *
   * @param nth how many earlier ones are of the same lock: a statement changes a row once
   */
  private record Together(Duration ttl, boolean shared, int nth) {}

  private static Duration shortestTtl(List<Grant> grants) {
    return grants.stream()
        .map(grant -> grant.claim().ttl())
        .min(Comparator.naturalOrder())
        .orElse(Duration.ZERO);
  }

  private static Collection<List<JdbcGrant>> renewedTogether(List<Grant> grants) {
    Map<Together, List<JdbcGrant>> groups = new LinkedHashMap<>();
    Map<String, Integer> seen = new HashMap<>();
    for (Grant each : grants) {
      JdbcGrant grant = (JdbcGrant) each;
      StoredClaim claim = grant.stored();
      int nth = claim.shared() ? seen.merge(claim.key(), 1, Integer::sum) : 0;
      groups
          .computeIfAbsent(
              new Together(grant.claim().ttl(), claim.shared(), nth), group -> new ArrayList<>())
          .add(grant);
    }
    return groups.values();
  }

  /**
   * Tries again to renew batches of grants whose rows were locked; not for long, measured by the
   * shortest TTL of all grants, whose results wait for it.
   */
  private void renewLocked(
      List<List<JdbcGrant>> batches,
      IdentityHashMap<Grant, Renewal> results,
      Deadline patience,
      Deadline deadline,
      Duration shortestTtl) {
    Deadline retries = deadline.within(shortestTtl.dividedBy(SHARE_OF_LOCKED));
    List<List<JdbcGrant>> open = new ArrayList<>(batches);
    for (int tries = 1; ; tries++) {
      int failures = tries;
      open.removeIf(batch -> batch.isEmpty()
          || failures == (batch.get(0).stored().shared() ? LOCKED_SHARED_TRIES : LOCKED_TRIES));
      if (open.isEmpty() || !Deadlines.pause(retries, tries)) {
        return;
      }
      open.replaceAll(batch -> {
        try {
          return renewOnce(batch, results, patience, deadline);
        } catch (StoreException e) {
          batch.forEach(grant -> results.put(grant, new Renewal.Unknown(e)));
          return List.of();
        }
      });
    }
  }

  /**
   * Tries once to renew grants. Returns those that are valid but could not be extended, since their
   * rows are locked; of them it is not known whether they will be.
   */
  private List<JdbcGrant> renewOnce(
      List<JdbcGrant> batch,
      IdentityHashMap<Grant, Renewal> results,
      Deadline patience,
      Deadline deadline)
      throws StoreException {
    List<StoredClaim> claims = batch.stream().map(JdbcGrant::stored).toList();
    List<Long> numbers = batch.stream().map(JdbcGrant::number).toList();
    List<String> keys = claims.stream().map(StoredClaim::key).toList();
    long ttlMicros = Keys.micros(batch.get(0).claim().ttl());
    long begin = System.nanoTime();
    // Both statements on one connection: another may lead to a server that knows less.
    Sessions.Call<Optional<List<Row>>> renewal =
        c -> dialect.renew(c, claims, numbers) == claims.size()
            ? Optional.empty()
            : Optional.of(dialect.readRows(c, keys));
    Optional<List<Row>> read =
        database.untilAnswered(deadline, () -> database.forRenewal(patience, deadline, renewal));
    if (read.isEmpty()) {
      batch.forEach(
          grant -> results.put(grant, new Renewal.Renewed(grant.claim().ttl())));
      return List.of();
    }
    Map<String, Row> rows = read.get().stream().collect(Collectors.toMap(Row::key, row -> row));
    long elapsedMicros = (System.nanoTime() - begin) / 1_000;
    List<JdbcGrant> locked = new ArrayList<>();
    for (JdbcGrant grant : batch) {
      Row row = rows.get(grant.stored().key());
      Optional<Row.Shown> held =
          row == null ? Optional.empty() : row.held(grant.stored(), grant.number());
      if (held.isEmpty()) {
        results.put(grant, new Renewal.Lost());
        continue;
      }
      long remainingMicros = held.get().remainingMicros();
      if (remainingMicros < ttlMicros - elapsedMicros - SLACK_MICROS) {
        results.put(grant, new Renewal.Unknown(locked()));
        locked.add(grant);
      } else {
        // The database counted the TTL from a moment after the engine made its call. After a slow
        // answer, only the time left in the row is sure: perhaps an earlier try extended the row,
        // and this one passed over it since it was locked.
        boolean prompt = elapsedMicros <= ttlMicros / PROMPT_DIVISOR;
        long validMicros = prompt ? ttlMicros : Math.min(ttlMicros, remainingMicros);
        results.put(grant, new Renewal.Renewed(Keys.duration(validMicros)));
      }
    }
    return locked;
  }

  /**
   * Extends a grant to at least {@code ttl} from now. While a transaction has the row locked, tries
   * again until the store timeout; the lease may end meanwhile.
   *
   * @return the time left; empty if the grant does not have the lock
   */
  Optional<Duration> extend(JdbcGrant grant, Duration ttl) throws StoreException {
    Deadline deadline = database.deadline();
    long ttlMicros = Keys.microsUp(ttl);
    for (int tries = 1; ; tries++) {
      long leftMicros = database.onPoolOrOwnConnection(
          deadline, c -> dialect.extend(c, grant.stored(), grant.number(), ttlMicros));
      if (leftMicros == Protocol.NONE) {
        Optional<Row.Shown> held = database
            .onPoolOrOwnConnection(
                deadline, c -> dialect.readRow(c, grant.stored().key()))
            .flatMap(row -> row.held(grant.stored(), grant.number()));
        if (held.isEmpty()) {
          return Optional.empty();
        }
        // The row is locked. Or it has this time already, and the driver is configured to count
        // only rows that change.
        leftMicros = held.get().remainingMicros();
      }
      if (leftMicros >= ttlMicros) {
        return Optional.of(Keys.duration(leftMicros));
      }
      if (!Deadlines.pause(deadline, tries)) {
        throw locked();
      }
    }
  }

  /** Ends a grant, even if its time is over; false if the lock was taken or freed since. */
  boolean release(JdbcGrant grant, Duration holdFor) throws StoreException {
    Deadline deadline = database.deadline();
    long number = grant.number();
    long holdMicros = Keys.microsUp(holdFor);
    if (grant.stored().isForPermit()) {
      return endPermit(deadline, grant.stored(), grant.permit(), holdMicros);
    }
    if (grant.stored().shared()) {
      return endReader(deadline, grant.stored());
    }
    // A plain release does nothing while somebody waits, and it may wait for a guard's transaction.
    // A hand-over does neither.
    boolean released = !grant.isLikelyAwaited()
        && !grant.guarded().get()
        && database.onPoolOrOwnConnection(
            deadline, c -> dialect.release(c, grant.stored(), number, holdMicros));
    return released || handOver(deadline, grant.stored(), number, holdMicros);
  }

  /** Does {@link Dialect#handOver}; returns whether the grant had the lock. */
  boolean handOver(Deadline deadline, StoredClaim claim, long number, long holdMicros)
      throws StoreException {
    return end(
        deadline,
        claim.key(),
        row -> row.isOf(claim, number),
        (c, passesOver) -> dialect.handOver(c, claim, number, holdMicros, passesOver));
  }

  /** Ends the claim's wait and its grant, whichever there is. */
  void withdraw(StoredClaim claim) throws StoreException {
    Deadline deadline = database.deadline();
    String key = claim.key();
    // Deletes the waiter first, so that nothing is handed over to it after that.
    database.onPoolOrOwnConnection(deadline, c -> dialect.leave(c, List.of(claim)));
    Optional<Row.Shown> shown =
        readRow(deadline, key).filter(row -> row.isOwnedBy(claim)).flatMap(row -> row.grant(claim));
    if (shown.isEmpty()) {
      return;
    }
    Reader entry = shown.get().entry();
    if (entry == null) {
      end(
          deadline,
          key,
          row -> row.isOwnedBy(claim),
          (c, passesOver) -> dialect.withdraw(c, claim, passesOver));
    } else {
      endEntry(deadline, claim, entry);
    }
  }

  /** Ends the grant of a reader or of a permit; returns whether the row showed it. */
  private boolean endEntry(Deadline deadline, StoredClaim claim, Reader entry)
      throws StoreException {
    return claim.isForPermit()
        ? endPermit(deadline, claim, entry.permit(), 0)
        : endReader(deadline, claim);
  }

  /** Ends the grant of this number; returns whether it had the lock. */
  boolean forceRelease(String key, long number) throws StoreException {
    Deadline deadline = database.deadline();
    boolean ended = end(
        deadline,
        key,
        row -> !row.isFree() && !row.isShared() && row.number() == number,
        (c, passesOver) -> dialect.forceRelease(c, key, number, passesOver));
    while (!ended) {
      Optional<Row> row = readRow(deadline, key);
      Optional<Reader> entry = row.flatMap(seen -> seen.entry(number));
      if (entry.isEmpty()) {
        return false;
      }
      // Not if its holder has released it meanwhile; then a minimum hold may keep it.
      ended = endEntry(deadline, row.get().claim(entry.get()), entry.get());
    }
    return true;
  }

  /**
   * Ends the grant of a permit, even if its time is over; returns whether the row showed it.
   *
   * @param holdMicros the time for which the permit stays taken
   */
  private boolean endPermit(Deadline deadline, StoredClaim claim, int permit, long holdMicros)
      throws StoreException {
    return end(
        deadline,
        claim.key(),
        row -> row.grant(claim).isPresent(),
        (c, unused) ->
            holdMicros > 0 ? permits.keep(c, claim, holdMicros) : permits.leave(c, claim, permit));
  }

  /** Ends a reader's grant, even if its time is over; returns whether the row showed it. */
  private boolean endReader(Deadline deadline, StoredClaim claim) throws StoreException {
    AtomicInteger sent = new AtomicInteger();
    AtomicLong left = new AtomicLong();
    boolean ended =
        end(deadline, claim.key(), row -> row.grant(claim).isPresent(), (c, passesOver) -> {
          // Waits once: a statement that waits can stay at the server for long.
          boolean mayWait = sent.getAndIncrement() == 0
              && Deadlines.leavesATry(deadline, ReaderStatements.ROW_WAIT_NANOS);
          left.set(readers.leave(c, claim, mayWait));
          return left.get() != Protocol.NONE
              || Sessions.next(
                  c, deadline, same -> dialect.handOver(same, claim, Protocol.NONE, 0, passesOver));
        });
    if (ended && left.get() > Protocol.SHARED_MICROS && Deadlines.leavesATry(deadline, 0)) {
      tidySafely(deadline, claim.key());
    }
    return ended;
  }

  /**
   * Does {@link ReaderStatements#tidy}. If somebody has changed the list meanwhile, or has the row
   * locked, tries again for a moment. If it can't be done, whoever waits for the lock does it, or
   * the next one that leaves; the grant has ended all the same.
   */
  private void tidySafely(Deadline deadline, String key) {
    try {
      for (int tries = 0; tries < LOCKED_TRIES; tries++) {
        Optional<Row> row = readRow(deadline, key).filter(Row::isUntidy);
        if (row.isEmpty()
            || database.onPoolOrOwnConnection(deadline, c -> readers.tidy(c, row.get()))
            || !Deadlines.pause(deadline, tries)) {
          return;
        }
      }
    } catch (StoreException e) {
      log.debug("The list of those who read could not be tidied", e);
    }
  }

  /** A statement that ends a grant. */
  @FunctionalInterface
  private interface Ending {
    /** @param passesOver whether to pass over waiters whose rows are locked */
    boolean on(Connection connection, boolean passesOver) throws SQLException;
  }

  /**
   * Ends a grant by this statement, which leaves a locked row alone; tries again for as long as the
   * row shows the grant. The first waiter's row can be locked for a moment, since the waiter
   * reports that it is alive; if it stays locked, after several tries or half of the time, the next
   * one gets the lock.
   *
   * @return whether it ended the grant
   */
  private boolean end(Deadline deadline, String key, Predicate<Row> grant, Ending ending)
      throws StoreException {
    Deadline firstWaiter = Deadlines.part(deadline, 2);
    AtomicInteger sent = new AtomicInteger();
    Sessions.Call<Boolean> statement =
        c -> ending.on(c, sent.getAndIncrement() >= FIRST_WAITER_TRIES || firstWaiter.isOver());
    for (int tries = 0; !database.onPoolOrOwnConnection(deadline, statement); tries++) {
      if (!shows(deadline, key, grant)) {
        return false;
      }
      if (!Deadlines.pause(deadline, tries)) {
        throw locked();
      }
    }
    return true;
  }

  private boolean shows(Deadline deadline, String key, Predicate<Row> grant) throws StoreException {
    return readRow(deadline, key).filter(grant).isPresent();
  }

  private Optional<Row> readRow(Deadline deadline, String key) throws StoreException {
    return database.onPoolOrOwnConnection(deadline, c -> dialect.readRow(c, key));
  }

  /** Makes the exception for a row that stayed locked. */
  static StoreException locked() {
    return StoreException.refused("Another transaction has the lock's row locked", null);
  }
}
