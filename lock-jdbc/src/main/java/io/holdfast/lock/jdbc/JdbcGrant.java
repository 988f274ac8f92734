package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;

/**
 * A grant by a row.
 *
 * @param claim the claim that was granted
 * @param number the row's number since then
 * @param validFor the time from the begin of the call that got it; the database counts it from a
 *     moment within that call, or later
 * @param fromLine whether it came through the line, so that others may wait in it
 * @param database the database that has the row
 */
record JdbcGrant(Claim claim, long number, Duration validFor, boolean fromLine, Database database)
    implements Grant {
  /** A lock that was handed over is taken for so long, whatever its TTL. */
  private static final Duration HANDED_OVER =
      Duration.of(Dialect.HANDED_OVER_MICROS, ChronoUnit.MICROS);

  @Override
  public Duration crashBound() {
    return fromLine && claim.ttl().compareTo(HANDED_OVER) < 0 ? HANDED_OVER : claim.ttl();
  }

  /** The stored name. */
  String key() {
    return Keys.of(claim.key());
  }

  Dialect dialect() {
    return database.dialect();
  }

  /**
   * Asks whether the row still shows this grant, though its time may be over. On the client's own
   * connection, since whoever asks may have taken the last one of the pool.
   */
  boolean isShown() throws StoreException {
    return database.onSpare(database.deadline(), (d, c) -> d.look(c, List.of(key()))).stream()
        .anyMatch(row -> row.isOf(claim.ownerId(), number));
  }
}
