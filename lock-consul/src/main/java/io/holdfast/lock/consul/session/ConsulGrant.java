package io.holdfast.lock.consul.session;

import io.holdfast.lock.consul.line.LineCleanup;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import java.time.Duration;

/** A grant: the key of its attempt has come first in its line, or a reader's before any other. */
public record ConsulGrant(Attempt attempt, long number, Duration validFor) implements Grant {
  @Override
  public Claim claim() {
    return attempt.claim();
  }

  @Override
  public Duration crashBound(Duration ttl) {
    return Duration.ofNanos(attempt.session().ttlNanos()).multipliedBy(LineCleanup.TTLS_OF_A_CRASH);
  }

  @Override
  public String toString() {
    return attempt.key() + "@" + number;
  }
}
