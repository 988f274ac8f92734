package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import java.time.Duration;

/**
 * A grant by a key.
 *
 * @param claim the attempt that was granted
 * @param number its number
 * @param keys the lock's keys
 * @param store the store that granted it
 */
record RedisGrant(Claim claim, long number, Keys keys, RedisStore store) implements Grant {

  /** Redis counts the TTL from a moment within the call, so the call's begin is earlier. */
  @Override
  public Duration validFor() {
    return claim.ttl();
  }

  @Override
  public Duration crashBound() {
    return claim.ttl();
  }
}
