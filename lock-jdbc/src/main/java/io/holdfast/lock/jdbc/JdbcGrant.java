package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.connection.Database;
import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.Protocol;
import io.holdfast.lock.jdbc.dialect.StoredClaim;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.PermitGrant;
import io.holdfast.lock.spi.StoreException;
import java.sql.SQLException;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A grant that is recorded in a row, of a lock or of a permit.
 *
 * @param claim the claim that was granted
 * @param stored the claim as the row shows it
 * @param number the grant number in the row
 * @param validFor the time for which it is valid, from the beginning of the call that got it; the
 *     database counts from a moment within that call, or later
 * @param fromLine whether it came through the line, so that others may be waiting there
 * @param sinceNanos the time at which this client learned of it
 * @param guarded whether a guard has written to the row, so that a transaction may have it locked
 * @param permit the permit; of a lock, {@link #NO_PERMIT}
 * @param database the database that has the row
 */
record JdbcGrant(
    Claim claim,
    StoredClaim stored,
    long number,
    Duration validFor,
    boolean fromLine,
    long sinceNanos,
    AtomicBoolean guarded,
    int permit,
    Database database)
    implements PermitGrant {
  /** The number of no permit. */
  static final int NO_PERMIT = -1;

  /** The time for which a lock that was handed over is taken, whatever its TTL. */
  private static final Duration HANDED_OVER =
      Duration.of(Protocol.HANDED_OVER_MICROS, ChronoUnit.MICROS);

  /**
   * The time after which a release looks for waiters at once. Shorter leases are many, most of them
   * without a waiter, and to look for one in vain costs a tenth of the statement.
   */
  private static final long LIKELY_AWAITED_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  /** Returns a grant of which this client learns now. */
  static JdbcGrant of(
      Database database,
      Claim claim,
      StoredClaim stored,
      long number,
      Duration validFor,
      boolean fromLine) {
    return of(database, claim, stored, number, validFor, fromLine, NO_PERMIT);
  }

  /** Returns a grant of a permit, of which this client learns now. */
  static JdbcGrant of(
      Database database,
      Claim claim,
      StoredClaim stored,
      long number,
      Duration validFor,
      boolean fromLine,
      int permit) {
    return new JdbcGrant(
        claim,
        stored,
        number,
        validFor,
        fromLine,
        System.nanoTime(),
        new AtomicBoolean(),
        permit,
        database);
  }

  /**
   * Whether somebody may well be waiting: it came through the line, or was held for long, as it
   * always is on a slow network.
   */
  boolean isLikelyAwaited() {
    return fromLine || System.nanoTime() - sinceNanos >= LIKELY_AWAITED_NANOS;
  }

  @Override
  public Duration crashBound(Duration ttl) {
    return fromLine && ttl.compareTo(HANDED_OVER) < 0 ? HANDED_OVER : ttl;
  }

  Dialect dialect() {
    return database.dialect();
  }

  /**
   * Asks whether the row still shows this grant, even if its time is over. Uses the client's own
   * connection, since the caller's transaction may have the last one of the pool, be aborted, or
   * see an old snapshot.
   */
  boolean isShown() throws SQLException {
    try {
      return database
          .onOwnConnection(database.deadline(), c -> dialect().readRow(c, stored.key()))
          .filter(row -> row.isOf(stored, number))
          .isPresent();
    } catch (StoreException e) {
      throw new SQLException(
          "It could not be asked on another connection whether the lease stands: " + e.getMessage(),
          e);
    }
  }
}
