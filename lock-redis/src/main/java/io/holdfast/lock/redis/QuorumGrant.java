package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import java.time.Duration;

/**
 * A grant by keys on most of several servers.
 *
 * @param claim the attempt that was granted
 * @param ownerId the id of the round of it that got a majority, which the servers wrote down
 * @param number its number
 */
record QuorumGrant(Claim claim, String ownerId, long number) implements Grant {
  private static final int DRIFT_DIVISOR = 100;
  private static final Duration DRIFT_MIN = Duration.ofMillis(2);

  /**
   * A TTL without what the servers' clocks may differ in rate: 1 % and 2 ms, as Redis's own
   * description of such locks has it, and beside what the engine allows for this machine's clock.
   */
  static Duration lessDrift(Duration ttl) {
    Duration left = ttl.minus(ttl.dividedBy(DRIFT_DIVISOR)).minus(DRIFT_MIN);
    return left.isNegative() ? Duration.ZERO : left;
  }

  /** A TTL of which more than that is left without the drift. */
  static Duration withDrift(Duration least) {
    return least
        .plus(DRIFT_MIN)
        .multipliedBy(DRIFT_DIVISOR)
        .dividedBy(DRIFT_DIVISOR - 1)
        .plusMillis(1);
  }

  @Override
  public Duration validFor() {
    return lessDrift(claim.ttl());
  }

  @Override
  public Duration crashBound() {
    return claim.ttl();
  }
}
