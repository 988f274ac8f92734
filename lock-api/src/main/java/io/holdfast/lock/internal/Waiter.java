package io.holdfast.lock.internal;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.StoreException;
import org.jspecify.annotations.Nullable;

/** A thread's place in the local line. */
final class Waiter {
  /** What a waiter is told. */
  sealed interface News {}

  /** The thread may ask the store now. */
  record YourTurn() implements News {}

  /** A thread of this client passed its lease on. */
  record HandedOn(Handle handle) implements News {}

  /**
   * The thread ahead has its answer, and this one no time left to ask for itself.
   *
   * @param holder who of this client has the lock
   */
  record TimeIsUp(@Nullable String holder) implements News {}

  /** The thread ahead asked the store and got no usable answer. */
  record StoreFailed(StoreException failure) implements News {}

  /** The client was closed. */
  record ClientClosed() implements News {}

  private final Thread thread;
  private final LockOptions options;
  private volatile @Nullable News news;

  /** Its time is over, and it waits only for the answer of the thread ahead; under the mutex. */
  boolean overdue;

  /** Who is to be woken besides, once the line's mutex is free. */
  @Nullable
  Waiter wakeNext;

  Waiter(Thread thread, LockOptions options) {
    this.thread = thread;
    this.options = options;
  }

  Thread thread() {
    return thread;
  }

  LockOptions options() {
    return options;
  }

  @Nullable
  News news() {
    return news;
  }

  /** Told once, under the line's mutex, after it was taken out of the line; to be woken then. */
  void tell(News told) {
    news = told;
  }
}
