package io.holdfast.lock.internal.queue;

/** The result of closing a handle ({@link Hold#close}). */
public enum Closing {
  /** It was closed before. */
  CLOSED_BEFORE,
  /** An outer acquisition still holds the lock. */
  STILL_HELD,
  /** Others share the grant, and have it still: the caller must call {@link WaitQueues#endUse}. */
  LEFT,
  /**
   * The next thread in the queue has the lease. Its hold takes over this hold's use of the queue,
   * so the caller must not call {@link WaitQueues#endUse}.
   */
  HANDED_ON,
  /** The hold leads, and its release is reserved for the caller, which must make it. */
  TO_BE_RELEASED,
  /** A guard is open: the hold must be released when the guard is closed. */
  GUARDED,
  /** The lease had been lost. */
  LOST,
  /**
   * The lease had been lost, its loss is told, and this was its last handle: the caller must call
   * {@link WaitQueues#endUse}.
   */
  LOST_AND_OVER
}
