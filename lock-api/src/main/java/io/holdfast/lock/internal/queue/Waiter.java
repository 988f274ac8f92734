package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LockListener.Source;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.StoreException;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** A thread's place in a wait queue. */
public final class Waiter {
  /** The result of a wait. */
  public sealed interface News {}

  /** The thread leads now: it may ask the store. */
  public record YourTurn() implements News {}

  /**
   * The thread has the lock.
   *
   * @param source who gave it: the store, another thread of this client, which may have it too, or
   *     the thread itself
   */
  public record Acquired(Handle handle, Source source) implements News {}

  /**
   * The lock is taken, and the thread's wait, if any, is over.
   *
   * @param holder the holder's description, if known
   */
  public record Taken(@Nullable String holder) implements News {}

  /**
   * There is no usable answer of the store: the leader's request, or a release, failed or took too
   * long.
   */
  public record StoreFailed(StoreException failure) implements News {}

  /** The client was closed. */
  public record ClientClosed() implements News {}

  /** The queue takes nobody any more, or not this thread: it must use another. */
  public record Elsewhere() implements News {}

  final Thread thread;
  final LockOptions options;
  final Claim.Mode mode;

  @Nullable
  volatile News news;

  /** Whether its time is over and it only waits for the leader's answer; guarded by the mutex. */
  boolean overdue;

  /** Its neighbours while it is in the queue; guarded by the mutex. */
  @Nullable
  Waiter previous;

  @Nullable
  Waiter next;

  /** Whether it is in the queue; guarded by the mutex. */
  boolean queued;

  boolean behindItself;

  /** Whether it may join readers who have their grant; and the time at which it asks to. */
  boolean mayJoin;

  long joinsAtNanos;

  /** Makes a waiter that is not in the queue yet. */
  public Waiter(Thread thread, LockOptions options, Claim.Mode mode) {
    this.thread = thread;
    this.options = options;
    this.mode = mode;
  }

  /** Lets it join readers who have their grant. */
  public void joinAt(long nowNanos) {
    mayJoin = true;
    joinsAtNanos = nowNanos;
  }

  /** Checks that its options are those with which its thread has the lock. */
  void requireEqual(LockOptions held, String lockName) {
    if (!held.equals(options)) {
      throw new IllegalStateException(("This thread owns lock '%s' with other options (%s) than it"
              + " asks for now (%s): it would wait for itself. Close the outer lease first, or ask"
              + " with equal options")
          .formatted(lockName, held, options));
    }
  }

  void wake() {
    LockSupport.unpark(thread);
  }

  /** Whether the same thread acquired the lease that it waits for. */
  public boolean isBehindItself() {
    return behindItself;
  }

  /** Returns the result of its wait, or null while it waits. */
  public @Nullable News news() {
    return news;
  }
}
