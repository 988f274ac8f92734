package io.holdfast.lock.model;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.PermitGrant;
import java.time.Duration;

/** A grant of the model's server. */
record ModelGrant(Claim claim, long number, int permit, Duration validFor) implements PermitGrant {
  @Override
  public Duration crashBound(Duration ttl) {
    return ttl;
  }
}
