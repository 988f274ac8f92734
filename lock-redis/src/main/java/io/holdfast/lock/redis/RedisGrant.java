package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import java.time.Duration;

/**
 * A grant by a key.
 *
 * @param claim the attempt that was granted
 * @param number its number
 * @param validFor for how long at least the key stands; Redis counts that from a moment after the
 *     call's begin
 * @param key the lock's key
 * @param store the store that granted it
 */
record RedisGrant(Claim claim, long number, Duration validFor, String key, RedisStore store)
    implements Grant {

  @Override
  public Duration crashBound() {
    return claim.ttl();
  }
}
