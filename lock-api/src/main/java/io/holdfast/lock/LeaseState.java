package io.holdfast.lock;

/** What a lease knows of itself. The set is closed. */
public enum LeaseState {
  /** The store confirmed it, and the deadline is ahead. */
  HELD,
  /**
   * Something asks for doubt: a renewal went unanswered or the session is suspended (the TTL still
   * runs and {@link Lease#isHeld()} stays true until the deadline), the wall clock ran ahead of the
   * monotonic one ({@code isHeld()} is false until the store confirmed the lease), or a close is
   * under way ({@code isHeld()} is false).
   */
  UNCERTAIN,
  /** Over before it was closed. Another may hold the lock. Final. */
  LOST,
  /** Closed by its holder. Final. */
  RELEASED
}
