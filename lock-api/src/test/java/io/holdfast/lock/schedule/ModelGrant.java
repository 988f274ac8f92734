package io.holdfast.lock.schedule;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import java.time.Duration;

/** A grant of the model store. */
record ModelGrant(Claim claim, long number, Duration validFor) implements Grant {
  @Override
  public Duration crashBound() {
    return claim.ttl();
  }
}
