package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.connection.Database;
import io.holdfast.lock.jdbc.connection.Deadlines;
import io.holdfast.lock.jdbc.dialect.Attempt;
import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.PermitRows;
import io.holdfast.lock.jdbc.dialect.Row;
import io.holdfast.lock.jdbc.dialect.Standing;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.TimeSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The protocol of semaphores. There is a row per permit, which one conditional update takes and
 * another frees, and a row of the semaphore's own for its line and its number of permits. A release
 * hands the permit over to the first waiter, which is told at once if it is of the same client.
 *
 * <p>Threads: safe for use by any number of threads.
 */
final class Permits implements Protocol {
  /** The number of times that an acquire looks for a free permit that another then takes first. */
  private static final int TRIES = 10;

  /** An owner id that no waiter has. */
  private static final String NOBODY = "";

  private static final Logger log = LoggerFactory.getLogger(Permits.class);

  private final Database database;
  private final PermitRows rows;
  private final Poller poller;
  private final TimeSource time;
  private final FreePermits hints = new FreePermits();

  Permits(Database database, Poller poller, TimeSource time) {
    this.database = database;
    this.poller = poller;
    this.time = time;
    rows = new PermitRows(database.dialect());
  }

  /**
   * Tries the permit that this client gave back last, which takes one statement if it is still
   * free. Otherwise looks at all of them.
   */
  @Override
  public Attempted attempt(Claim claim) throws StoreException {
    Deadline deadline = database.deadline();
    int permits = claim.permits();
    Attempt likely = Keys.permitAttempt(claim, hints.take(claim.key(), permits));
    long number = database.onPool(deadline, (d, c) -> rows.acquire(c, likely, permits));
    for (int tries = 1; number == Dialect.NONE; tries++) {
      Semaphore seen = lookAgreed(deadline, claim);
      int permit = seen.anyFree(permits);
      boolean open = permit >= 0 && seen.ahead() == 0;
      if (!open || tries > TRIES || (tries > 1 && !Deadlines.pause(deadline, tries))) {
        return new Attempted.Busy(seen.summary(Keys.of(claim.key()), permits));
      }
      number = take(deadline, claim, seen, permit, Dialect.NO_PLACE);
    }
    return new Attempted.Taken(grant(claim, number, claim.ttl(), false));
  }

  @Override
  public Optional<JdbcGrant> acceptOrTake(Claim claim, long place) throws StoreException {
    Deadline deadline = database.deadline();
    long number = Dialect.NONE;
    for (int tries = 1; number == Dialect.NONE; tries++) {
      Semaphore seen = lookAgreed(deadline, claim);
      OptionalInt handed = seen.permitOf(claim.ownerId());
      if (handed.isPresent()) {
        Attempt attempt = Keys.permitAttempt(claim, handed.getAsInt());
        number = database.onPool(deadline, (d, c) -> d.accept(c, attempt));
        return number == Dialect.NONE ? Optional.empty() : granted(claim, number, claim.ttl());
      }
      int permit = seen.anyFree(claim.permits());
      if (permit < 0 || seen.ahead() > 0 || tries > Mutexes.LOCKED_TRIES) {
        return Optional.empty();
      }
      number = take(deadline, claim, seen, permit, place);
      if (number != Dialect.NONE && seen.countFree(claim.permits()) > 1) {
        wakeNext(deadline, claim.key());
      }
    }
    return granted(claim, number, claim.ttl());
  }

  /** Takes this permit, whose row is made first if there is none. */
  private long take(Deadline deadline, Claim claim, Semaphore seen, int permit, long place)
      throws StoreException {
    Attempt attempt = Keys.permitAttempt(claim, permit);
    if (!seen.isReady(permit, claim.permits())) {
      database.onPool(deadline, (d, c) -> rows.create(c, attempt.key(), permit));
      adopt(deadline, claim, seen, List.of(attempt.key()));
    }
    String line = Keys.of(claim.key());
    return database.onPool(deadline, (d, c) -> rows.take(c, attempt, claim.permits(), line, place));
  }

  /**
   * Looks at the semaphore, which has the claim's number of permits; gives it that number if it is
   * free to have any.
   *
   * @throws StoreException a permit is held, or somebody waits, with another number
   */
  private Semaphore lookAgreed(Deadline deadline, Claim claim) throws StoreException {
    for (int tries = 1; ; tries++) {
      Semaphore seen = look(deadline, claim, claim.permits());
      if (seen.has(claim.permits())) {
        return seen;
      }
      if (tries > TRIES || (tries > 1 && !Deadlines.pause(deadline, tries))) {
        throw StoreException.refused(
            "Others set the number of permits of the semaphore '"
                + claim.key().name()
                + "' all the time, or its row is there and is not seen",
            null);
      }
      String line = Keys.of(claim.key());
      if (seen.line() == null) {
        database.onPool(deadline, (d, c) -> rows.create(c, line, 0));
      }
      if (seen.permits().isEmpty()) {
        database.onPool(deadline, (d, c) -> rows.create(c, Keys.ofPermit(claim.key(), 0), 0));
      }
      Semaphore all = look(deadline, claim, Claim.PERMITS_MAX);
      int stored = all.numberInUse(claim.permits());
      if (stored != claim.permits()) {
        throw StoreException.permitsDiffer(claim, stored);
      }
      adopt(deadline, claim, all, all.permits().values().stream().map(Row::key).toList());
    }
  }

  /** Sets the number of permits in the semaphore's own row, as it was seen, and in these. */
  private void adopt(Deadline deadline, Claim claim, Semaphore seen, List<String> rowsOfPermits)
      throws StoreException {
    Row row = seen.line();
    if (row == null) {
      return; // A purge came first. The next look makes it anew.
    }
    List<String> keys = new ArrayList<>(rowsOfPermits);
    keys.add(row.key());
    database.onPool(
        deadline, (d, c) -> rows.adopt(c, row.key(), keys, claim.permits(), row.guarded()));
  }

  private Semaphore look(Deadline deadline, Claim claim, int permits) throws StoreException {
    return database.onPool(
        deadline, (d, c) -> look(d, c, claim.key(), permits, List.of(claim.ownerId())));
  }

  private static Semaphore look(
      Dialect dialect, Connection connection, LockKey key, int permits, List<String> ownerIds)
      throws SQLException {
    String line = Keys.of(key);
    List<String> keys = new ArrayList<>(Keys.ofPermits(key, permits));
    keys.add(line);
    return Semaphore.of(line, dialect.lookAtLine(connection, keys, ownerIds));
  }

  /** Tells the next waiter that there is another free permit. It would find that out by itself. */
  private void wakeNext(Deadline deadline, LockKey key) {
    try {
      database.onPool(deadline, (d, c) -> {
        d.wakeFirst(c, Keys.of(key));
        return true;
      });
    } catch (StoreException e) {
      log.debug("The next waiter could not be woken; it polls", e);
    }
  }

  @Override
  public Optional<JdbcGrant> granted(Claim claim, long number, Duration validFor) {
    return Optional.of(grant(claim, number, validFor, true));
  }

  private JdbcGrant grant(Claim claim, long number, Duration validFor, boolean fromLine) {
    return new JdbcGrant(claim, number, validFor, fromLine, database);
  }

  @Override
  public boolean release(JdbcGrant grant, long holdMicros) throws StoreException {
    Claim claim = grant.claim();
    String row = grant.key();
    long number = grant.number();
    long sentNanos = time.nanos();
    long ended = database.onPoolOrSpare(database.deadline(), (d, c) -> {
      boolean freed = !grant.fromLine() && d.release(c, row, claim.ownerId(), number, holdMicros);
      return freed
          ? PermitRows.FREED
          : rows.handOver(c, row, Keys.of(claim.key()), claim.ownerId(), number, holdMicros);
    });
    if (ended == PermitRows.FREED && holdMicros == 0) {
      hints.add(claim.key(), grant.permit());
    } else if (ended > PermitRows.FREED) {
      poller.handedOver(
          ended - PermitRows.FREED, PermitRows.numberAfter(number), claim.permits(), sentNanos);
    }
    return ended != Dialect.NONE;
  }

  /** Looks for what the claim was granted, since it is not known which permit that was. */
  @Override
  public void withdraw(Claim claim) throws StoreException {
    String line = Keys.of(claim.key());
    Deadline deadline = database.deadline();
    database.onPoolOrSpare(deadline, (d, c) -> d.leave(c, List.of(line), List.of(claim.ownerId())));
    for (List<String> batch : Keys.batches(Keys.ofPermits(claim.key(), claim.permits()))) {
      for (Row row : database.onPoolOrSpare(deadline, (d, c) -> d.look(c, batch))) {
        if (row.owner().equals(claim.ownerId())) {
          database.onPoolOrSpare(
              deadline,
              (d, c) -> rows.handOver(c, row.key(), line, claim.ownerId(), row.number(), 0));
        }
      }
    }
  }

  @Override
  public List<StoredHolder> holders(LockKey key) throws StoreException {
    return database
        .onPool(database.deadline(), (d, c) -> look(d, c, key, Claim.PERMITS_MAX, List.of(NOBODY)))
        .holders();
  }

  @Override
  public boolean forceRelease(LockKey key, long number) throws StoreException {
    String row = Keys.ofPermit(key, JdbcGrant.permit(number));
    return database.onPoolOrSpare(
        database.deadline(), (d, c) -> rows.forceHandOver(c, row, Keys.of(key), number));
  }

  @Override
  public List<Standing> look(List<Waiter> waiters) throws StoreException {
    Map<LockKey, List<Waiter>> byKey = new LinkedHashMap<>();
    for (Waiter waiter : waiters) {
      byKey.computeIfAbsent(waiter.claim().key(), key -> new ArrayList<>()).add(waiter);
    }
    List<Standing> standings = new ArrayList<>();
    for (Map.Entry<LockKey, List<Waiter>> each : byKey.entrySet()) {
      List<Waiter> those = each.getValue();
      int permits = those.get(0).claim().permits();
      List<String> ownerIds = those.stream().map(Waiter::ownerId).toList();
      Semaphore seen = database.onSpare(
          database.deadline(), (d, c) -> look(d, c, each.getKey(), permits, ownerIds));
      standings.addAll(seen.standings(Keys.of(each.getKey()), permits));
    }
    return standings;
  }

  @Override
  public List<String> announcedRows(Claim claim) {
    return Keys.ofPermits(claim.key(), claim.permits());
  }

  @Override
  public void announce(List<String> rowsOfPermits, boolean own) throws StoreException {
    for (List<String> batch : Keys.batches(rowsOfPermits)) {
      Database.Question<Integer> question = (d, c) -> rows.announce(c, batch);
      Integer unused = own
          ? database.onSpare(database.deadline(), question)
          : database.onPool(database.deadline(), question);
    }
  }
}
