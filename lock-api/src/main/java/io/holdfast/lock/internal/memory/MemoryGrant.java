package io.holdfast.lock.internal.memory;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import java.time.Duration;

/** The grant of a {@link MemoryTable}. */
record MemoryGrant(Claim claim, long number, int permit) implements Grant {
  @Override
  public Duration validFor() {
    return claim.ttl();
  }

  @Override
  public Duration crashBound(Duration ttl) {
    return ttl;
  }
}
