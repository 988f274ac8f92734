package io.holdfast.lock;

/** The kinds of owner that an acquisition can have. No constants will be added. */
public enum Ownership {
  /**
   * The thread that acquired the lock; it may acquire it again while it holds it. Not for fork/join
   * tasks and parallel streams: a thread that waits there may run another task meanwhile, which
   * then acquires the lock again.
   */
  THREAD,
  /**
   * The lease itself: never reentrant, and any thread may carry it. For asynchronous and reactive
   * code, for fork/join tasks, and for pool threads that run many tasks.
   */
  LEASE
}
