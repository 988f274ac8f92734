package io.holdfast.lock.consul.session;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import java.time.Duration;

/** A grant: the key of its attempt is the first in its line. */
public final class ConsulGrant implements Grant {
  private final Attempt attempt;
  private final long number;
  private final Duration validFor;

  ConsulGrant(Attempt attempt, long number, long validForNanos) {
    this.attempt = attempt;
    this.number = number;
    this.validFor = Duration.ofNanos(Math.max(0, validForNanos));
  }

  public Attempt attempt() {
    return attempt;
  }

  @Override
  public Claim claim() {
    return attempt.claim();
  }

  @Override
  public long number() {
    return number;
  }

  @Override
  public Duration validFor() {
    return validFor;
  }

  @Override
  public Duration crashBound() {
    return attempt.session().crashBound();
  }

  @Override
  public String toString() {
    return attempt.key() + "@" + number;
  }
}
