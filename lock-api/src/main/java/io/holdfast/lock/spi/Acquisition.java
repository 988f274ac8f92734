package io.holdfast.lock.spi;

/** What came of asking for a lock with the readiness to wait. */
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
   */
  record Queued(Ticket ticket) implements Acquisition {}
}
