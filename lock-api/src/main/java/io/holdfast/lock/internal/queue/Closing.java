package io.holdfast.lock.internal.queue;

/** The result of closing a handle. */
public enum Closing {
  /** It was closed before. */
  CLOSED_BEFORE,
  /** An outer acquisition still holds the lock. */
  STILL_HELD,
  /** The next thread in the queue has the lease, and with it the use of this queue. */
  HANDED_ON,
  /**
   * The hold leads, or is a reader's, and is to be given back to the store or to those who share.
   */
  TO_BE_RELEASED,
  /** A guard is open: the hold must be released when the guard is closed. */
  GUARDED,
  /** The lease had been lost. */
  LOST,
  /** The lease had been lost, and that was told; the queue must be left. */
  LOST_AND_LEFT
}
