package io.holdfast.lock.internal.memory;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.PermitGrant;
import java.time.Duration;

/**
 * The grant of a {@link MemoryTable}.
 *
 * @param permit the permit that was granted; 0 of a mutex
 */
record MemoryGrant(Claim claim, long number, int permit) implements PermitGrant {
  @Override
  public Duration validFor() {
    return claim.ttl();
  }

  @Override
  public Duration crashBound(Duration ttl) {
    return ttl;
  }
}
