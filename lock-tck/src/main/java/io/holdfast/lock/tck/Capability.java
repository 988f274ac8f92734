package io.holdfast.lock.tck;

/**
 * What a {@link Fixture} can do besides making clients. A test whose capability is missing is
 * skipped with the fixture's reason; a capability that is declared and not delivered fails rule
 * L-11.1.
 */
public enum Capability {
  /** {@link Fixture#newClient(java.util.function.UnaryOperator)}: the store can be watched. */
  TAP,
  /** {@link Fixture#newLink()}: the way to the store can be broken. */
  FAULTS,
  /** {@link Fixture#pauseServer()} and {@link Fixture#resumeServer()}. */
  SERVER_PAUSE,
  /** {@link Fixture#killServer()} and {@link Fixture#startServer()}. */
  SERVER_RESTART,
  /** What the server confirmed is still there after it was killed and started again. */
  DURABLE,
  /** {@link Fixture#childProcess()}: other processes reach the same store. */
  CHILD_PROCESSES,
  /** {@link StoreAccess#guardedWrites()}: writes that apply only while a lease stands. */
  GUARDED_WRITES,
  /** {@link Fixture#leftovers()}: what the store keeps can be counted. */
  LEFTOVERS,
  /** {@link Fixture#isRolledBackAround}: callers have transactions of their own on the store. */
  CALLER_TRANSACTIONS
}
