package io.holdfast.lock;

/** The state of a lease, as far as its client knows. No constants will be added. */
public enum LeaseState {
  /**
   * The store confirmed the lease, and the deadline has not passed. {@link Lease#isHeld()} is true.
   */
  HELD,
  /**
   * It is not certain that the lease is valid. One of three cases:
   *
   * <ul>
   *   <li>A renewal or a {@code verify()} went unanswered, or the session is suspended. The TTL is
   *       not over yet, so {@link Lease#isHeld()} is true until the deadline.
   *   <li>The wall clock ran ahead of the monotonic one, so the machine may have slept.
   *       {@code isHeld()} is false until the store has confirmed the lease;
   *       {@link Lease#ensureHeld()} asks the store.
   *   <li>A close is under way, or is waiting for a guard to be closed. {@code isHeld()} is false.
   * </ul>
   *
   * <p>The first two end when the store answers a request that was sent after the doubt began, or
   * at the deadline.
   */
  UNCERTAIN,
  /**
   * The lease ended before it was closed, and another holder may have the lock.
   * {@link Lease#isHeld()} is false. Final.
   */
  LOST,
  /** The holder closed the lease. {@link Lease#isHeld()} is false. Final. */
  RELEASED
}
