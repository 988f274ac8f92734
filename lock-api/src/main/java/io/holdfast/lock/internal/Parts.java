package io.holdfast.lock.internal;

import io.holdfast.lock.LockClientClosedException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.cleanup.Cleanup;
import io.holdfast.lock.internal.event.Callbacks;
import io.holdfast.lock.internal.event.Events;
import io.holdfast.lock.internal.queue.WaitQueues;
import io.holdfast.lock.internal.renewal.Keeper;
import io.holdfast.lock.internal.task.Workers;
import io.holdfast.lock.internal.time.Clocks;
import io.holdfast.lock.spi.LockStore;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The parts of a client's engine that know none of the classes that acquire, settle and ask.
 *
 * @param closed whether the client's close has begun
 */
record Parts(
    Clocks time,
    LockStore store,
    long storeTimeoutNanos,
    Claims claims,
    WaitQueues queues,
    Events events,
    Callbacks callbacks,
    Keeper keeper,
    Cleanup cleanup,
    DroppedLeases droppedLeases,
    Workers settlers,
    Workers cleaners,
    Workers callbackThreads,
    AtomicBoolean closed) {

  /** @throws IllegalArgumentException the client or its store does not support the options */
  void checkOptions(LockOptions options) {
    StoreTimeouts.check(options, Duration.ofNanos(storeTimeoutNanos));
    store.checkOptions(options);
  }

  /** @throws LockClientClosedException the client was closed */
  void requireOpen(String lockName) {
    if (closed.get()) {
      throw new LockClientClosedException(lockName);
    }
  }
}
