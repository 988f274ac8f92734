package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import java.time.Duration;

/**
 * A grant by a row.
 *
 * @param claim the claim that was granted
 * @param number the row's number since then
 * @param dialect how to speak to the table that has the row
 */
record JdbcGrant(Claim claim, long number, Dialect dialect) implements Grant {

  /** The database counts the TTL from a moment within the call, so the call's begin is earlier. */
  @Override
  public Duration validFor() {
    return claim.ttl();
  }

  @Override
  public Duration crashBound() {
    return claim.ttl();
  }

  /** The stored name. */
  String key() {
    return Keys.of(claim.key());
  }
}
