package io.holdfast.lock.internal.queue;

import io.holdfast.lock.spi.LockKey;
import java.util.Collection;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The wait queues of one client: one for each name in use, exactly, and none for other names. */
public final class WaitQueues {
  private final ConcurrentHashMap<LockKey, WaitQueue> queues = new ConcurrentHashMap<>();
  private final WaitQueue.Releaser releaser;

  /** @param releaser gives back what its closing thread could not */
  public WaitQueues(WaitQueue.Releaser releaser) {
    this.releaser = releaser;
  }

  /** The queue of this name, kept until {@link #leave}. */
  public WaitQueue use(LockKey key) {
    return queues.compute(key, (k, existing) -> {
      WaitQueue queue = existing == null ? new WaitQueue(k, releaser) : existing;
      queue.users++;
      return queue;
    });
  }

  /** Ends one {@link #use}, be it of a call or of the hold that came of it. */
  public void leave(WaitQueue queue) {
    queues.computeIfPresent(
        queue.key(),
        (k, existing) -> existing == queue && --existing.users == 0 ? null : existing);
  }

  /** The queue of this name if it is in use. */
  public @Nullable WaitQueue find(LockKey key) {
    return queues.get(key);
  }

  /** All that are in use. */
  public Collection<WaitQueue> all() {
    return queues.values();
  }
}
