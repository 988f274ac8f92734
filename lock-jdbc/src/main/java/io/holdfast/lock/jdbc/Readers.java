package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.connection.Database;
import io.holdfast.lock.jdbc.connection.Deadlines;
import io.holdfast.lock.jdbc.dialect.Attempt;
import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.ReaderRows;
import io.holdfast.lock.jdbc.dialect.Row;
import io.holdfast.lock.jdbc.dialect.Standing;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The protocol of read locks. Each reader has a place, which is a row of its own; the lock's own
 * row is that of the mutex of the same name, and shows while there are readers that it is taken.
 * Both are written by one statement. The line is that of the mutex: a reader that is handed the
 * lock has it alone, until it takes a place. From then on all readers in line that no writer is
 * ahead of may enter, in any order.
 *
 * <p>Threads: safe for use by any number of threads.
 */
final class Readers implements Protocol {
  private static final Logger log = LoggerFactory.getLogger(Readers.class);

  /**
   * The number of times that an acquire tries while the lock is open to readers, but its row or a
   * place is locked, or taken by another first.
   */
  private static final int TRIES = 20;

  private final Database database;
  private final ReaderRows rows;
  private final FreePermits hints = new FreePermits();

  Readers(Database database) {
    this.database = database;
    rows = new ReaderRows(database.dialect());
  }

  ReaderRows rows() {
    return rows;
  }

  /** If the place that this client gave back last is free, this takes one statement. */
  @Override
  public Attempted attempt(Claim claim) throws StoreException {
    Deadline deadline = database.deadline();
    String lock = Keys.of(claim.key());
    int place = hints.take(claim.key(), Integer.MAX_VALUE);
    Attempt likely = Keys.placeAttempt(claim, place);
    long number = database.onPool(deadline, (d, c) -> rows.enter(c, likely, lock));
    for (int tries = 1; number == Dialect.NONE; tries++) {
      List<Standing> seen = database.onPool(
          deadline, (d, c) -> rows.lookAtLine(c, List.of(lock), List.of(Keys.ownerInLine(claim))));
      if (seen.isEmpty()) {
        if (tries > TRIES) {
          throw Mutexes.unseen(database);
        }
        database.onPool(deadline, (d, c) -> rows.create(c, lock));
        continue;
      }
      Row row = seen.get(0).row();
      boolean open = (row.isFree() || row.isRead()) && seen.get(0).ahead() == 0;
      if (!open || tries > TRIES || (tries > 1 && !Deadlines.pause(deadline, tries))) {
        return new Attempted.Busy(row);
      }
      place = freePlace(deadline, claim.key());
      Attempt attempt = Keys.placeAttempt(claim, place);
      number = database.onPool(deadline, (d, c) -> rows.enter(c, attempt, lock));
    }
    return new Attempted.Taken(granted(claim, number, place));
  }

  /** If the place that this client gave back last is free, this takes one statement. */
  @Override
  public Optional<JdbcGrant> acceptOrTake(Claim claim, long waiter) throws StoreException {
    Deadline deadline = database.deadline();
    int place = hints.take(claim.key(), Integer.MAX_VALUE);
    long number = follow(deadline, claim, place, waiter);
    if (number == Dialect.NONE) {
      place = freePlace(deadline, claim.key());
      number = follow(deadline, claim, place, waiter);
    }
    if (number == Dialect.NONE) {
      return Optional.empty();
    }
    wakeNext(deadline, Keys.of(claim.key()));
    return Optional.of(granted(claim, number, place));
  }

  private long follow(Deadline deadline, Claim claim, int place, long waiter)
      throws StoreException {
    Attempt attempt = Keys.placeAttempt(claim, place);
    return database.onPool(
        deadline,
        (d, c) -> rows.follow(c, attempt, Keys.of(claim.key()), Keys.ownerInLine(claim), waiter));
  }

  /**
   * Tells the readers that are next in line to look: they can follow. They would find that out by
   * themselves.
   */
  private void wakeNext(Deadline deadline, String lock) {
    try {
      database.onPool(deadline, (d, c) -> {
        d.wakeReaders(c, lock);
        return true;
      });
    } catch (StoreException e) {
      log.debug("The next waiters could not be woken; they poll", e);
    }
  }

  private JdbcGrant granted(Claim claim, long number, int place) {
    return new JdbcGrant(
        claim, number, claim.ttl(), false, database, Keys.ofPlace(claim.key(), place));
  }

  /** None: a reader that was handed the lock has no place yet. */
  @Override
  public Optional<JdbcGrant> granted(Claim claim, long number, Duration validFor) {
    return Optional.empty();
  }

  /** Returns a free place, any of those that have a row, or a new one. */
  private int freePlace(Deadline deadline, LockKey key) throws StoreException {
    List<Row> places = database.onPool(deadline, (d, c) -> places(c, key));
    Set<Integer> known = new HashSet<>();
    List<Integer> free = new ArrayList<>();
    for (Row row : places) {
      int place = Keys.parsePlace(row.key());
      known.add(place);
      if (row.isFree()) {
        free.add(place);
      }
    }
    if (!free.isEmpty()) {
      // Those who look at the same time should not all try the same one.
      return free.get(ThreadLocalRandom.current().nextInt(free.size()));
    }
    int place = 0;
    while (known.contains(place)) {
      place++;
    }
    String row = Keys.ofPlace(key, place);
    database.onPool(deadline, (d, c) -> rows.create(c, row));
    return place;
  }

  private List<Row> places(Connection connection, LockKey key) throws SQLException {
    String prefix = Keys.prefixOfPlaces(key);
    return rows.places(connection, prefix, Keys.above(prefix));
  }

  @Override
  public boolean release(JdbcGrant grant, long holdMicros) throws StoreException {
    boolean released =
        exit(grant.claim().key(), grant.key(), grant.claim().ownerId(), grant.number(), holdMicros);
    if (released && holdMicros == 0) {
      hints.add(grant.claim().key(), Keys.parsePlace(grant.key()));
    }
    return released;
  }

  private boolean exit(LockKey key, String place, String ownerId, long number, long holdMicros)
      throws StoreException {
    Deadline deadline = database.deadline();
    String lock = Keys.of(key);
    long done = database.onPoolOrSpare(
        deadline, (d, c) -> rows.exit(c, place, lock, ownerId, number, holdMicros));
    if (done == ReaderRows.LAST_AND_WANTED) {
      handOver(deadline, lock);
    }
    return done != Dialect.NONE;
  }

  /** Hands over a lock that all readers have left. If that fails, a waiter does it. */
  private void handOver(Deadline deadline, String lock) {
    try {
      database.onPoolOrSpare(deadline, (d, c) -> rows.handOver(c, lock));
    } catch (StoreException e) {
      log.debug("The lock could not be handed over; the first waiter takes it", e);
    }
  }

  /** Looks for what the claim was granted, since it is not known which place that was. */
  @Override
  public void withdraw(Claim claim) throws StoreException {
    Deadline deadline = database.deadline();
    String lock = Keys.of(claim.key());
    database.onPoolOrSpare(deadline, (d, c) -> {
      d.leave(c, List.of(lock), List.of(Keys.ownerInLine(claim)));
      return d.withdraw(c, lock, Keys.ownerInLine(claim));
    });
    for (Row row : database.onPoolOrSpare(deadline, (d, c) -> places(c, claim.key()))) {
      if (row.owner().equals(claim.ownerId())) {
        boolean unused = exit(claim.key(), row.key(), claim.ownerId(), row.number(), 0);
      }
    }
  }

  @Override
  public List<StoredHolder> holders(LockKey key) throws StoreException {
    return database.onPool(database.deadline(), (d, c) -> places(c, key)).stream()
        .filter(row -> !row.isFree())
        .sorted(Comparator.comparingLong(Row::number))
        .map(row -> Mutexes.holder(row, 0))
        .toList();
  }

  @Override
  public boolean forceRelease(LockKey key, long number) throws StoreException {
    for (Row row : database.onPoolOrSpare(database.deadline(), (d, c) -> places(c, key))) {
      if (row.number() == number && !row.isFree()) {
        return exit(key, row.key(), row.owner(), number, 0);
      }
    }
    return false;
  }

  /** A lock that readers have is free for those in line that no writer is ahead of. */
  @Override
  public List<Standing> look(List<Waiter> waiters) throws StoreException {
    List<String> keys = waiters.stream().map(Waiter::key).toList();
    List<String> ownerIds = waiters.stream().map(Waiter::ownerId).toList();
    return database
        .onSpare(database.deadline(), (d, c) -> rows.lookAtLine(c, keys, ownerIds))
        .stream()
        .map(standing ->
            standing.row().isRead() ? standing.withRow(standing.row().withRemaining(0)) : standing)
        .toList();
  }

  /**
   * Looks at the readers of a lock whose row shows that readers have it. If all of them are over,
   * hands it over to the first waiter, or frees it.
   *
   * @param own whether to use the client's own connection
   * @return the row, with the time that the readers have left
   */
  Row settle(Row row, LockKey key, boolean own) throws StoreException {
    Deadline deadline = database.deadline();
    List<Row> places = ask(own, deadline, (d, c) -> places(c, key));
    long remaining = places.stream().mapToLong(Row::remainingMicros).max().orElse(0);
    if (remaining <= 0) {
      List<String> keys = places.stream().map(Row::key).toList();
      boolean unused = ask(own, deadline, (d, c) -> rows.settle(c, row.key(), row.number(), keys));
    }
    return row.withRemaining(Math.max(0, remaining));
  }

  private <T> T ask(boolean own, Deadline deadline, Database.Question<T> question)
      throws StoreException {
    return own ? database.onSpare(deadline, question) : database.onPool(deadline, question);
  }

  @Override
  public List<String> announcedRows(Claim claim) {
    return List.of(Keys.of(claim.key()));
  }

  @Override
  public void announce(List<String> locks, boolean own) throws StoreException {
    Mutexes.announce(database, locks, own);
  }
}
