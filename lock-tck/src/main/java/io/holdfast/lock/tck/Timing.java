package io.holdfast.lock.tck;

import java.time.Duration;

/**
 * The durations that the rules are tried with.
 *
 * @param ttl the TTL of leases that are meant to expire; at least the shortest that the store takes
 * @param storeTimeout what a call to the store takes at most; at most a third of {@code ttl}
 * @param slack how much later than promised something may happen on a busy machine, polling and
 *     ticks of the store included: generous, since only "never" is a failure
 * @param quiet how long to watch that something does not happen
 */
public record Timing(Duration ttl, Duration storeTimeout, Duration slack, Duration quiet) {

  /** Checks that a client would accept it. */
  public Timing {
    if (ttl.compareTo(storeTimeout.multipliedBy(3)) < 0) {
      throw new IllegalArgumentException(
          "The TTL " + ttl + " must be at least three store timeouts of " + storeTimeout);
    }
  }

  /** TTL 3 s, store timeout 1 s, slack 5 s, quiet 0.8 s: for a store on the same machine. */
  public static Timing defaults() {
    return new Timing(
        Duration.ofSeconds(3),
        Duration.ofSeconds(1),
        Duration.ofSeconds(5),
        Duration.ofMillis(800));
  }
}
