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
import io.holdfast.lock.jdbc.dialect.Standing;
import io.holdfast.lock.jdbc.dialect.StoredClaim;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.PermitGuesses;
import io.holdfast.lock.spi.PermitsDifferException;
import io.holdfast.lock.spi.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Lets those in who want a permit, in line or not. A statement names the permit that it takes: at
 * first a guess, and if that fails, one that the row shows to be free.
 */
final class PermitEntries {
  /** The most tries of a call that need not get the permit, since its claim waits in line. */
  private static final int TRIES_MAX = 4;

  private final Database database;
  private final Dialect dialect;
  private final PermitStatements permits;
  private final ReaderStatements readers;
  final PermitGuesses guesses = new PermitGuesses();

  PermitEntries(Database database) {
    this.database = database;
    dialect = database.dialect();
    permits = new PermitStatements(dialect);
    readers = new ReaderStatements(dialect);
  }

  /** Takes a permit if one is free and nobody is in line. */
  Optional<JdbcGrant> tryEnter(Claim claim) throws StoreException {
    Deadline deadline = database.deadline();
    Attempt attempt =
        new Attempt(claim, Keys.stored(claim), Protocol.NO_PLACE, guess(claim), false);
    return database.onPool(deadline, c -> enter(c, deadline, attempt)).orRefused();
  }

  /** Does {@link #tryEnter} for a claim that may join the line afterwards. */
  AcquireOutcome enterOrWait(
      Connection connection, Deadline deadline, Claim claim, StoredClaim stored)
      throws SQLException {
    return enter(
        connection, deadline, new Attempt(claim, stored, Protocol.NO_PLACE, guess(claim), true));
  }

  /** Takes a permit for the first in line, if one is free. */
  Optional<JdbcGrant> enterFromLine(Deadline deadline, JdbcTicket ticket) throws StoreException {
    int free = ticket.freePermit;
    boolean isKnown = free >= 0 && free < ticket.stored.permits();
    Attempt attempt = new Attempt(
        ticket.claim, ticket.stored, ticket.place, isKnown ? free : guess(ticket.claim), true);
    AcquireOutcome outcome = database.untilAnswered(
        deadline, () -> database.onPool(deadline, c -> enter(c, deadline, attempt)));
    return outcome.mayWait() ? Optional.empty() : outcome.orRefused();
  }

  private int guess(Claim claim) {
    return guesses.next(claim.key().name(), ((Claim.Permit) claim.mode()).of());
  }

  /**
   * A try to get a permit.
   *
   * @param place the claim's place in line, or {@link Protocol#NO_PLACE}
   * @param first the permit to try first
   * @param waits whether its claim waits in line if it gets none
   */
  private record Attempt(Claim claim, StoredClaim stored, long place, int first, boolean waits) {
    boolean isInLine() {
      return place != Protocol.NO_PLACE;
    }
  }

  /**
   * One statement if the permit to try first is free, and two more if not; tries again while others
   * who come and go are in the way.
   */
  private AcquireOutcome enter(Connection connection, Deadline whole, Attempt attempt)
      throws SQLException {
    StoredClaim stored = attempt.stored();
    Deadline deadline = whole;
    int permit = attempt.first();
    for (int tries = 0; ; tries++) {
      int next = permit;
      Sessions.Call<Long> take = c -> permits.take(c, stored, next, attempt.place());
      long number = tries == 0 ? take.on(connection) : Sessions.next(connection, deadline, take);
      if (number != Protocol.NONE) {
        return granted(attempt, number, next);
      }
      Sessions.Call<List<Standing>> look = c -> dialect.readStandings(c, List.of(stored));
      Optional<Standing> seen =
          Sessions.next(connection, deadline, look).stream().findFirst();
      if (seen.isPresent()) {
        AcquireOutcome end = endOf(connection, deadline, attempt, seen.get());
        if (end != null) {
          return end;
        }
        permit = anyOf(seen.get().row().freePermits(stored.permits()));
      } else if (tries > JdbcStore.UNSEEN_MAX) {
        return AcquireOutcome.refused(JdbcStore.unseen(dialect));
      } else {
        // Once in a name's life, and with a store timeout of its own, as the insert of a lock's.
        deadline = tries == 0 ? database.deadline() : deadline;
        Sessions.next(connection, deadline, c -> {
          readers.createRow(c, stored.key());
          return stored;
        });
      }
      boolean isLast = attempt.waits() && tries == TRIES_MAX;
      // The second try is at once: if only the guess was wrong, nobody is in the way.
      boolean goesOn = tries == 0 || (!isLast && Deadlines.pause(deadline, tries));
      if (!goesOn) {
        return AcquireOutcome.locked();
      }
    }
  }

  private static int anyOf(List<Integer> free) {
    // At random, or all who see the same list would take the same one.
    return free.get(ThreadLocalRandom.current().nextInt(free.size()));
  }

  private AcquireOutcome granted(Attempt attempt, long number, int permit) {
    Claim claim = attempt.claim();
    // Nothing was handed over, whether it waited or not.
    return AcquireOutcome.granted(
        JdbcGrant.of(database, claim, attempt.stored(), number, claim.ttl(), false, permit));
  }

  /**
   * Returns how a try ends, if what was seen says so; null if a permit can be had. Takes those out
   * of the list whose time is over.
   */
  private @Nullable AcquireOutcome endOf(
      Connection connection, Deadline deadline, Attempt attempt, Standing seen)
      throws SQLException {
    StoredClaim stored = attempt.stored();
    Row row = seen.row();
    if (row.isOwnedBy(stored)) {
      // By an earlier statement, whose answer was lost.
      Row.Shown shown = row.grant(stored).orElseThrow();
      long leftMicros = ReaderEntries.untilUnlocked(
          connection, deadline, c -> dialect.extend(c, stored, shown.number(), stored.ttlMicros()));
      Reader entry = shown.entry();
      return leftMicros == Protocol.NONE || entry == null
          ? AcquireOutcome.locked()
          : granted(attempt, shown.number(), entry.permit());
    }
    int known = row.permits();
    if (known == 0 && !attempt.isInLine() && seen.ahead() > 0) {
      known = Sessions.next(connection, deadline, c -> permits.permitsOfFirst(c, row.key()));
    }
    if (known > 0 && known != stored.permits()) {
      return AcquireOutcome.refused(
          new PermitsDifferException(attempt.claim().key(), stored.permits(), known));
    }
    boolean isTurnOver = attempt.isInLine() && !seen.inLine();
    if (isTurnOver || !seen.admits(stored)) {
      return AcquireOutcome.TAKEN;
    }
    if (row.isUntidy()) {
      boolean unused = Sessions.next(connection, deadline, c -> readers.tidy(c, row));
    }
    return null;
  }
}
