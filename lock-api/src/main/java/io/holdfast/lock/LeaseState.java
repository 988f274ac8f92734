package io.holdfast.lock;

/** The states of a lease, as far as it knows. The set is closed. */
public enum LeaseState {
  /** The store confirmed it, and the deadline is ahead. {@link Lease#isHeld()} is true. */
  HELD,
  /**
   * One of three:
   *
   * <ul>
   *   <li>A renewal or a {@code verify()} went unanswered, or the session is suspended. The TTL
   *       still runs, and {@link Lease#isHeld()} is true until the deadline.
   *   <li>The wall clock ran ahead of the monotonic one: the machine may have slept.
   *       {@code isHeld()} is false until the store has confirmed the lease;
   *       {@link Lease#ensureHeld()} asks it.
   *   <li>A close is under way, or waits for the end of a guard. {@code isHeld()} is false.
   * </ul>
   *
   * <p>The first two end with the answer to a question that was sent after the doubt began, or at
   * the deadline.
   */
  UNCERTAIN,
  /**
   * Over before it was closed. Another may hold the lock. {@link Lease#isHeld()} is false. Final.
   */
  LOST,
  /** Closed by its holder. {@link Lease#isHeld()} is false. Final. */
  RELEASED
}
