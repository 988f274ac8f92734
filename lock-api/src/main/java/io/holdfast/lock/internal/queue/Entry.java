package io.holdfast.lock.internal.queue;

import org.jspecify.annotations.Nullable;

/** What became of a thread that entered a wait queue. */
public sealed interface Entry {
  /** The thread has the lock already, and has one handle more. */
  record Reentered(Handle handle) implements Entry {}

  /** The thread leads: it is to ask the store. */
  record Leads() implements Entry {}

  /**
   * The thread stands in the queue.
   *
   * @param behindItself whether it waits for a lease that it acquired itself
   */
  record Queued(boolean behindItself) implements Entry {}

  /**
   * The lock is taken, and the thread does not wait.
   *
   * @param holder the holder, if it is of this client
   */
  record Taken(@Nullable String holder) implements Entry {}

  /** The client was closed. */
  record Closed() implements Entry {}
}
