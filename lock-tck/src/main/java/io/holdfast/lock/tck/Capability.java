package io.holdfast.lock.tck;

/**
 * An optional ability of a {@link Fixture}. A test whose capability is missing is skipped, with the
 * fixture's reason. A capability that is declared but does not work fails rule L-11.1.
 */
public enum Capability {
  /**
   * {@link Fixture#newClient(java.util.function.UnaryOperator)}: calls to the store can be watched
   * and changed.
   */
  TAP,
  /** {@link Fixture#newLink()}: the connection to the store can be broken. */
  FAULTS,
  /** {@link Fixture#pauseServer()} and {@link Fixture#resumeServer()}. */
  SERVER_PAUSE,
  /** {@link Fixture#killServer()} and {@link Fixture#startServer()}. */
  SERVER_RESTART,
  /** The server keeps what it confirmed when it is killed and started again. */
  DURABLE,
  /** {@link Fixture#childProcess()}: other processes reach the same store. */
  CHILD_PROCESSES,
  /** {@link StoreAccess#guardedWrites()}: writes that are made only while a lease is valid. */
  GUARDED_WRITES,
  /** {@link Fixture#leftovers()}: the data that the store keeps can be counted. */
  LEFTOVERS,
  /** {@link Fixture#isRolledBackAround}: callers have transactions of their own on the store. */
  CALLER_TRANSACTIONS,
  /**
   * The store has semaphores ({@link io.holdfast.lock.SemaphoreClient}), and a queue of the clients
   * that wait for a permit.
   */
  SEMAPHORES,
  /** The store has read-write locks ({@link io.holdfast.lock.ReadWriteClient}). */
  READ_WRITE
}
