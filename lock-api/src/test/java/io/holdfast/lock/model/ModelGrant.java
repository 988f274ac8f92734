package io.holdfast.lock.model;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import java.time.Duration;

/** A grant of the model's server. */
record ModelGrant(Claim claim, long number, Duration validFor) implements Grant {
  @Override
  public Duration crashBound(Duration ttl) {
    return ttl;
  }
}
