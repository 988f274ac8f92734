package io.holdfast.lock.spi;

import java.time.Duration;

/** The outcome of asking for a lock with the readiness to wait. */
public sealed interface Acquisition {
  /**
   * The lock is the claim's.
   *
   * @param grant the grant
   */
  record Granted(Grant grant) implements Acquisition {}

  /**
   * The lock is taken, and the claim stands in line.
   *
   * @param ticket its place
   * @param recheckAfter the longest time to the first {@link Ticket#poll()} if no wake-up comes
   */
  record Queued(Ticket ticket, Duration recheckAfter) implements Acquisition {}
}
