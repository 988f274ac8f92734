package io.holdfast.lock.redis.quorum;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import java.time.Duration;

/**
 * A grant that consists of keys on a majority of several servers.
 *
 * @param claim the claim that was granted
 * @param ownerId the id of the round that got the majority, as the servers recorded it
 * @param number the grant's number
 */
public record QuorumGrant(Claim claim, String ownerId, long number) implements Grant {
  private static final int DRIFT_DIVISOR = 100;
  private static final Duration DRIFT_MIN = Duration.ofMillis(2);

  /**
   * Returns a TTL less the allowance for servers' clocks that run at different rates: 1 % and 2 ms,
   * as in Redis's own description of such locks. The engine's allowance for this machine's clock
   * comes on top.
   */
  static Duration lessDrift(Duration ttl) {
    Duration left = ttl.minus(ttl.dividedBy(DRIFT_DIVISOR)).minus(DRIFT_MIN);
    return left.isNegative() ? Duration.ZERO : left;
  }

  /** Returns a TTL that is longer than {@code least} even after {@link #lessDrift}. */
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
  public Duration crashBound(Duration ttl) {
    return ttl;
  }
}
