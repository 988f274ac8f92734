package io.holdfast.lock;

/** The owner of an acquisition. The set is closed. */
public enum Ownership {
  /** The thread that acquired: it may acquire again while it holds the lock. */
  THREAD,
  /**
   * The lease itself: never reentrant, and any thread may carry it. For asynchronous and reactive
   * code, and for pool threads that run many tasks.
   */
  LEASE
}
