package io.holdfast.lock.tck;

import java.time.Duration;

/**
 * The durations that rules about time are tested with. In all others a client waits long for an
 * answer, and its leases do not end.
 *
 * @param ttl the TTL of leases that are meant to expire; not below the shortest that the store
 *     accepts
 * @param storeTimeout the store timeout; at most a third of {@code ttl}
 * @param slack the delay, beyond what is promised, within which something must happen on a busy
 *     machine, the store's polling and ticks included; generous, since only "never" is a failure
 * @param quiet the time for which to watch that something does not happen
 */
public record Timing(Duration ttl, Duration storeTimeout, Duration slack, Duration quiet) {

  /** Refuses, with an {@link IllegalArgumentException}, a TTL below three store timeouts. */
  public Timing {
    if (ttl.compareTo(storeTimeout.multipliedBy(3)) < 0) {
      throw new IllegalArgumentException(
          "The TTL " + ttl + " must be at least three store timeouts of " + storeTimeout);
    }
  }

  /**
   * Returns a TTL of 3 s, store timeout 1 s, slack 5 s, quiet 0.8 s: for a store on the same
   * machine.
   */
  public static Timing defaults() {
    return new Timing(
        Duration.ofSeconds(3),
        Duration.ofSeconds(1),
        Duration.ofSeconds(5),
        Duration.ofMillis(800));
  }
}
