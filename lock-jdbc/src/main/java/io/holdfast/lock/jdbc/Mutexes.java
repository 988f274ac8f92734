package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.connection.Database;
import io.holdfast.lock.jdbc.connection.Deadlines;
import io.holdfast.lock.jdbc.dialect.Attempt;
import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.Row;
import io.holdfast.lock.jdbc.dialect.Standing;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The protocol of locks with one holder. There is one row per lock, which one conditional update
 * takes and another frees. A release hands the lock over to the first waiter.
 *
 * <p>Threads: safe for use by any number of threads.
 */
final class Mutexes implements Protocol {
  /**
   * The number of times that an acquire tries a row that is free, but locked by another transaction
   * at the moment.
   */
  static final int LOCKED_TRIES = 4;

  private final Database database;
  private final Readers readers;

  Mutexes(Database database, Readers readers) {
    this.database = database;
    this.readers = readers;
  }

  /** If the lock is free and has been used before, this takes one statement. */
  @Override
  public Attempted attempt(Claim claim) throws StoreException {
    Deadline deadline = database.deadline();
    Attempt attempt = Keys.attempt(claim);
    long number = database.onPool(deadline, (d, c) -> d.acquire(c, attempt));
    for (int tries = 1; number == Dialect.NONE; tries++) {
      List<Standing> seen = database.onPool(
          deadline, (d, c) -> d.lookAtLine(c, List.of(attempt.key()), List.of(attempt.owner())));
      if (seen.isEmpty()) {
        if (tries > LOCKED_TRIES) {
          throw unseen(database);
        }
        number = database.onPool(deadline, (d, c) -> d.insert(c, attempt));
        continue;
      }
      Standing standing = settled(seen.get(0), claim.key(), false);
      boolean open = standing.row().isFree() && standing.ahead() == 0;
      if (!open || tries > LOCKED_TRIES || (tries > 1 && !Deadlines.pause(deadline, tries))) {
        return new Attempted.Busy(standing.row());
      }
      number = database.onPool(deadline, (d, c) -> d.take(c, attempt, Dialect.NO_PLACE));
    }
    return new Attempted.Taken(new JdbcGrant(claim, number, claim.ttl(), false, database));
  }

  /** Looks behind the row, if it shows that readers have the lock. */
  private Standing settled(Standing standing, LockKey key, boolean own) throws StoreException {
    Row row = standing.row();
    return row.isRead() && !row.isFree()
        ? standing.withRow(readers.settle(row, key, own))
        : standing;
  }

  static StoreException unseen(Database database) {
    return StoreException.refused(
        "The lock's row can't be inserted, since it is there, and is not seen: "
            + database.dialect().database()
            + " is behind something that sends reads to another server than writes. Pass a data"
            + " source that sends all to the primary",
        null);
  }

  /**
   * Accepts the lock if it was handed over to this waiter, or takes it if it is free and the waiter
   * is the first.
   */
  @Override
  public Optional<JdbcGrant> acceptOrTake(Claim claim, long place) throws StoreException {
    Attempt attempt = Keys.attempt(claim);
    long number = database.onPool(database.deadline(), (d, c) -> {
      long accepted = d.accept(c, attempt);
      return accepted == Dialect.NONE ? d.take(c, attempt, place) : accepted;
    });
    return number == Dialect.NONE ? Optional.empty() : granted(claim, number, claim.ttl());
  }

  @Override
  public Optional<JdbcGrant> granted(Claim claim, long number, Duration validFor) {
    return Optional.of(new JdbcGrant(claim, number, validFor, true, database));
  }

  @Override
  public boolean release(JdbcGrant grant, long holdMicros) throws StoreException {
    String key = grant.key();
    String ownerId = grant.claim().ownerId();
    return database.onPoolOrSpare(
        database.deadline(),
        (d, c) -> (!grant.fromLine() && d.release(c, key, ownerId, grant.number(), holdMicros))
            || d.handOver(c, key, ownerId, grant.number(), holdMicros));
  }

  @Override
  public void withdraw(Claim claim) throws StoreException {
    String key = Keys.of(claim.key());
    database.onPoolOrSpare(database.deadline(), (d, c) -> {
      // Deletes the waiter first, so that nothing is handed over to it after the second statement.
      d.leave(c, List.of(key), List.of(claim.ownerId()));
      return d.withdraw(c, key, claim.ownerId());
    });
  }

  @Override
  public List<StoredHolder> holders(LockKey key) throws StoreException {
    List<Row> rows =
        database.onPool(database.deadline(), (d, c) -> d.look(c, List.of(Keys.of(key))));
    if (rows.isEmpty() || rows.get(0).isFree()) {
      return List.of();
    }
    Row row = rows.get(0);
    return row.isRead() ? readers.holders(key) : List.of(holder(row, 0));
  }

  /** Returns the holder of a row that is taken. */
  static StoredHolder holder(Row row, int permit) {
    return new StoredHolder(
        row.number(),
        row.holder(),
        Instant.EPOCH.plus(row.changedAtMicros(), ChronoUnit.MICROS),
        Keys.duration(row.remainingMicros()),
        row.owner().isEmpty(),
        permit);
  }

  @Override
  public boolean forceRelease(LockKey key, long number) throws StoreException {
    return database.onPoolOrSpare(
            database.deadline(), (d, c) -> d.forceRelease(c, Keys.of(key), number))
        || readers.forceRelease(key, number);
  }

  @Override
  public List<Standing> look(List<Waiter> waiters) throws StoreException {
    List<String> keys = waiters.stream().map(Waiter::key).toList();
    List<String> ownerIds = waiters.stream().map(Waiter::ownerId).toList();
    Map<String, LockKey> byRow = new HashMap<>();
    waiters.forEach(waiter -> byRow.put(waiter.key(), waiter.claim().key()));
    List<Standing> standings = new ArrayList<>();
    for (Standing standing :
        database.onSpare(database.deadline(), (d, c) -> d.lookAtLine(c, keys, ownerIds))) {
      LockKey key = byRow.get(standing.row().key());
      standings.add(key == null ? standing : settled(standing, key, true));
    }
    return standings;
  }

  @Override
  public List<String> announcedRows(Claim claim) {
    return List.of(Keys.of(claim.key()));
  }

  @Override
  public void announce(List<String> rows, boolean own) throws StoreException {
    announce(database, rows, own);
  }

  /** Records in rows of locks that are taken that somebody waits. */
  static void announce(Database database, List<String> rows, boolean own) throws StoreException {
    for (List<String> batch : Keys.batches(rows)) {
      Database.Question<Integer> question = (d, c) -> d.announce(c, batch);
      Integer unused = own
          ? database.onSpare(database.deadline(), question)
          : database.onPool(database.deadline(), question);
    }
  }
}
