package io.holdfast.lock.spi;

import java.time.Duration;

/** The result of {@link LockStore#acquireOrQueue}. */
public sealed interface Acquisition {
  /**
   * The claim was granted the lock.
   *
   * @param grant the grant
   */
  record Granted(Grant grant) implements Acquisition {}

  /**
   * The lock is taken, and the claim waits in the store's line.
   *
   * @param ticket the claim's place in the line
   * @param recheckAfter the time after which {@link Ticket#poll()} must be called for the first
   *     time if no wake-up has come
   */
  record Queued(Ticket ticket, Duration recheckAfter) implements Acquisition {}
}
