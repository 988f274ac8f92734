package io.holdfast.lock.internal.queue;

import io.holdfast.lock.spi.LockKey;
import java.util.Collection;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The wait queues of one client: exactly one for each name in use, and none for other names. */
public final class WaitQueues {
  private final ConcurrentHashMap<LockKey, WaitQueue> queues = new ConcurrentHashMap<>();
  private final WaitQueue.Releaser releaser;

  /** @param releaser releases the holds that their closing threads could not */
  public WaitQueues(WaitQueue.Releaser releaser) {
    this.releaser = releaser;
  }

  /** Returns the queue of this name and keeps it until {@link #leave}. */
  public WaitQueue use(LockKey key) {
    return queues.compute(key, (k, existing) -> {
      WaitQueue queue = existing == null ? new WaitQueue(k, releaser) : existing;
      queue.users++;
      return queue;
    });
  }

  /** Ends one {@link #use}, by a call or by the hold that it led to. */
  public void leave(WaitQueue queue) {
    queues.computeIfPresent(
        queue.key(), (k, existing) -> existing == queue && --existing.users == 0 ? null : existing);
  }

  /** Returns the queue of this name if it is in use, else null. */
  public @Nullable WaitQueue find(LockKey key) {
    return queues.get(key);
  }

  /** Returns all queues that are in use. */
  public Collection<WaitQueue> all() {
    return queues.values();
  }
}
