package io.holdfast.lock.internal.queue;

import org.jspecify.annotations.Nullable;

/** The result of entering a wait queue. */
public sealed interface Entry {
  /** The thread holds the lock already, and got one more handle. */
  record Reentered(Handle handle) implements Entry {}

  /** The thread leads: it must ask the store. */
  record Leads() implements Entry {}

  /**
   * The thread waits in the queue.
   *
   * @param behindItself whether the lease that it waits for was acquired by the same thread
   */
  record Queued(boolean behindItself) implements Entry {}

  /**
   * The lock is taken, and the thread does not want to wait.
   *
   * @param holder the holder, if it is of this client
   */
  record Taken(@Nullable String holder) implements Entry {}

  /** The client was closed. */
  record Closed() implements Entry {}
}
