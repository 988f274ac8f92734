package io.holdfast.lock.internal.queue;

import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The wait queues of one client: exactly one for each name in use, and none for other names. A
 * semaphore, whose attempts have nothing to do with each other, has one for each attempt and the
 * hold that it leads to.
 */
public final class WaitQueues {
  private final ConcurrentHashMap<LockKey, WaitQueue> queues = new ConcurrentHashMap<>();

  /** The queues of semaphores. */
  private final ConcurrentHashMap<LockKey, Set<WaitQueue>> separate = new ConcurrentHashMap<>();

  private final Consumer<Hold> releaser;

  /** @param releaser releases the holds that their closing threads could not */
  public WaitQueues(Consumer<Hold> releaser) {
    this.releaser = releaser;
  }

  /**
   * Returns the queue of this name, or a new one for a semaphore; keeps it until {@link #endUse}.
   */
  public WaitQueue use(LockKey key) {
    if (isSeparate(key)) {
      return useSeparate(key);
    }
    return queues.compute(key, (k, existing) -> {
      WaitQueue queue = existing == null ? new WaitQueue(k, releaser) : existing;
      queue.users++;
      return queue;
    });
  }

  private WaitQueue useSeparate(LockKey key) {
    WaitQueue queue = new WaitQueue(key, releaser);
    separate.compute(key, (k, existing) -> {
      Set<WaitQueue> all = existing == null ? ConcurrentHashMap.newKeySet() : existing;
      all.add(queue);
      return all;
    });
    return queue;
  }

  /** Ends one {@link #use}, by a call or by the hold that it led to. */
  public void endUse(WaitQueue queue) {
    if (isSeparate(queue.key())) {
      separate.computeIfPresent(queue.key(), (k, all) -> {
        all.remove(queue);
        return all.isEmpty() ? null : all;
      });
      return;
    }
    queues.computeIfPresent(
        queue.key(), (k, existing) -> existing == queue && --existing.users == 0 ? null : existing);
  }

  /** Returns the queue of a mutex, or null if it is not in use. Allocates nothing. */
  public @Nullable WaitQueue find(LockKey key) {
    return queues.get(key);
  }

  /** Returns the queues of this name that are in use: none or one, or those of a semaphore. */
  public Collection<WaitQueue> of(LockKey key) {
    if (isSeparate(key)) {
      return separate.getOrDefault(key, Set.of());
    }
    WaitQueue queue = queues.get(key);
    return queue == null ? List.of() : List.of(queue);
  }

  /** Returns all queues that are in use. */
  public Collection<WaitQueue> all() {
    if (separate.isEmpty()) {
      return queues.values();
    }
    List<WaitQueue> all = new ArrayList<>(queues.values());
    separate.values().forEach(all::addAll);
    return all;
  }

  private static boolean isSeparate(LockKey key) {
    return key.kind() == LockKind.PERMIT;
  }
}
