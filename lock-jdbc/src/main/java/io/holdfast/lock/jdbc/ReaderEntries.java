package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.connection.Database;
import io.holdfast.lock.jdbc.connection.Deadlines;
import io.holdfast.lock.jdbc.connection.Sessions;
import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.Protocol;
import io.holdfast.lock.jdbc.dialect.ReaderStatements;
import io.holdfast.lock.jdbc.dialect.Row;
import io.holdfast.lock.jdbc.dialect.Standing;
import io.holdfast.lock.jdbc.dialect.StoredClaim;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Lets readers in, those in line and others. */
final class ReaderEntries {
  /** The most tries of a reader to change a row that other readers had locked. */
  private static final int TRIES_MAX = 4;

  private final Database database;
  private final Dialect dialect;
  private final ReaderStatements statements;

  ReaderEntries(Database database) {
    this.database = database;
    dialect = database.dialect();
    statements = new ReaderStatements(dialect);
  }

  /**
   * Takes the lock for a reader, or tells why not, as {@link Dialect#acquire} does; inserts its row
   * if there is none.
   */
  long acquire(Connection connection, StoredClaim stored, Deadline deadline) throws SQLException {
    Entry entry = enter(connection, stored, Protocol.NO_PLACE, deadline);
    if (entry.number() != Protocol.NONE) {
      return entry.number();
    }
    if (entry.seen() != null) {
      return entry.seen().admits(stored) ? Protocol.UNSURE : Protocol.TAKEN;
    }
    long number = Sessions.next(connection, database.deadline(), same -> {
      statements.createRow(same, stored.key());
      return dialect.take(same, stored, Protocol.NO_PLACE);
    });
    return number == Protocol.NONE ? Protocol.UNSURE : number;
  }

  /**
   * The outcome of a try to enter.
   *
   * @param number the grant's number, or {@link Protocol#NONE}
   * @param seen the reason why not; null if the lock has no row
   */
  private record Entry(long number, @Nullable Standing seen) {}

  /**
   * Lets a reader in: one statement if that gets the lock, else one more, which tells why not. If
   * only other readers were in its way, who had the row locked, tries again.
   */
  private Entry enter(Connection connection, StoredClaim stored, long place, Deadline deadline)
      throws SQLException {
    long number = dialect.take(connection, stored, place);
    if (number != Protocol.NONE) {
      return new Entry(number, null);
    }
    List<Standing> seen =
        Sessions.next(connection, deadline, same -> dialect.readStandings(same, List.of(stored)));
    if (seen.isEmpty()) {
      return new Entry(Protocol.NONE, null);
    }
    Row row = seen.get(0).row();
    if (row.isShared() && seen.get(0).admits(stored) && row.grant(stored).isEmpty()) {
      number = untilUnlocked(connection, deadline, same -> {
        boolean mayWait = Deadlines.leavesATry(deadline, ReaderStatements.ROW_WAIT_NANOS);
        return statements.takeBeside(same, stored, place, mayWait);
      });
    }
    return new Entry(number, seen.get(0));
  }

  /** Sends a statement several times, as long as it reports nothing: readers had the row locked. */
  static long untilUnlocked(Connection connection, Deadline deadline, Sessions.Call<Long> statement)
      throws SQLException {
    long report = Sessions.next(connection, deadline, statement);
    for (int tries = 1;
        report == Protocol.NONE && tries < TRIES_MAX && Deadlines.pause(deadline, tries);
        tries++) {
      report = Sessions.next(connection, deadline, statement);
    }
    return report;
  }

  /**
   * Lets in a reader from the line. If it was handed the lock, or got it by an earlier try, it has
   * it for its TTL from now. Deletes its place: it can have entered out of turn, and the lock must
   * not be handed over to that place when it has left.
   */
  Optional<JdbcGrant> acceptOrEnter(Deadline deadline, Claim claim, StoredClaim stored, long place)
      throws StoreException {
    Optional<JdbcGrant> grant = database.untilAnswered(
        deadline,
        () -> database.onPool(deadline, c -> {
          Entry entry = enter(c, stored, place, deadline);
          return entry.number() != Protocol.NONE
              ? Optional.of(
                  JdbcGrant.of(database, claim, stored, entry.number(), claim.ttl(), true))
              : accept(c, deadline, claim, stored, entry.seen());
        }));
    if (grant.isPresent()) {
      int unused = database.onPool(deadline, c -> dialect.leave(c, List.of(stored)));
    }
    return grant;
  }

  private Optional<JdbcGrant> accept(
      Connection connection,
      Deadline deadline,
      Claim claim,
      StoredClaim stored,
      @Nullable Standing seen)
      throws SQLException {
    if (seen == null || !seen.row().isOwnedBy(stored)) {
      return Optional.empty();
    }
    Row.Shown shown = seen.row().grant(stored).orElseThrow();
    StoredClaim granted = shown.isAlone() ? stored.alone() : stored;
    long leftMicros = untilUnlocked(
        connection,
        deadline,
        same -> dialect.extend(same, granted, shown.number(), stored.ttlMicros()));
    return leftMicros == Protocol.NONE
        ? Optional.empty() // Its row is locked; the poller looks again.
        : Optional.of(JdbcGrant.of(database, claim, granted, shown.number(), claim.ttl(), true));
  }
}
