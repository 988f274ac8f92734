package io.holdfast.lock.redis.store;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.PermitGrant;
import java.time.Duration;

/**
 * A grant that is recorded in a key.
 *
 * @param claim the claim that was granted
 * @param number the grant's number
 * @param permit the permit that was granted; 0 of a mutex
 * @param validFor the time for which the grant stands at least; Redis counts it from a moment after
 *     the beginning of the call
 * @param store the store that granted it
 */
public record RedisGrant(Claim claim, long number, int permit, Duration validFor, RedisStore store)
    implements PermitGrant {

  @Override
  public Duration crashBound(Duration ttl) {
    return ttl;
  }
}
