package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The wait queues of one client: exactly one for the mutex of each name in use, one for its
 * readers, and none for other names. Of a semaphore, one for each attempt and the hold that it
 * leads to, and the leases that are handed on in it.
 */
public final class WaitQueues {
  /** The queues of mutexes, by name. */
  private final ConcurrentHashMap<String, WaitQueue> mutexes = new ConcurrentHashMap<>();

  /** The queues of readers, by name. */
  private final ConcurrentHashMap<String, WaitQueue> readers = new ConcurrentHashMap<>();

  /** The queues of semaphores. */
  private final ConcurrentHashMap<LockKey, Separate> separate = new ConcurrentHashMap<>();

  /** @param turns those of all attempts that say this number of permits */
  private record Separate(Set<WaitQueue> queues, PermitTurns turns) {}

  private final Sharing sharing;
  private final WaitQueue.Releaser releaser;

  /** Whether there was ever a reader: without one, a mutex need not look for any. */
  private volatile boolean anyReader;

  /**
   * @param sharing the rule of readers
   * @param releaser releases the holds that their closing threads could not
   */
  public WaitQueues(Sharing sharing, WaitQueue.Releaser releaser) {
    this.sharing = sharing;
    this.releaser = releaser;
  }

  /** Returns the queue of this mutex or read lock; keeps it until {@link #leave}. */
  public WaitQueue use(LockKey key) {
    if (key.kind() == LockKind.READ) {
      anyReader = true;
    }
    return byName(key).compute(key.name(), (k, existing) -> {
      WaitQueue queue = existing == null ? newQueue(key) : existing;
      queue.users++;
      return queue;
    });
  }

  /** Returns a new queue for an attempt at a semaphore; keeps it until {@link #leave}. */
  public WaitQueue use(LockKey semaphore, int permits, LockOptions options) {
    WaitQueue[] made = new WaitQueue[1];
    Separate unused = separate.compute(semaphore, (k, existing) -> {
      Separate all = existing == null
          ? new Separate(ConcurrentHashMap.newKeySet(), new PermitTurns(permits))
          : existing;
      // Who can't be handed a lease waits at the store, and so does one that says another number of
      // permits, which only the store can refuse.
      boolean inTurns = sharing.allows(options) && all.turns.most == permits;
      made[0] = new WaitQueue(semaphore, sharing, releaser, inTurns ? all.turns : null);
      all.queues.add(made[0]);
      return all;
    });
    return made[0];
  }

  private WaitQueue newQueue(LockKey key) {
    return new WaitQueue(key, sharing, releaser);
  }

  /** Ends one {@link #use}, by a call or by the hold that it led to. */
  public void leave(WaitQueue queue) {
    LockKey key = queue.key();
    if (key.kind() == LockKind.PERMIT) {
      separate.computeIfPresent(key, (k, all) -> {
        all.queues().remove(queue);
        return all.queues().isEmpty() ? null : all;
      });
      return;
    }
    byName(key)
        .computeIfPresent(
            key.name(),
            (k, existing) -> existing == queue && --existing.users == 0 ? null : existing);
  }

  /** Returns the queue of a mutex or of its readers, or null if it is not in use. */
  public @Nullable WaitQueue find(LockKey key) {
    // Allocates nothing.
    return key.kind() == LockKind.PERMIT ? null : byName(key).get(key.name());
  }

  /** Returns the queue of the mutex of this name, or null if it is not in use. */
  public @Nullable WaitQueue findMutex(String name) {
    return mutexes.get(name);
  }

  /** Returns the queues of this lock that are in use: none or one, or those of a semaphore. */
  public Collection<WaitQueue> of(LockKey key) {
    if (key.kind() == LockKind.PERMIT) {
      Separate all = separate.get(key);
      return all == null ? Set.of() : all.queues();
    }
    WaitQueue queue = find(key);
    return queue == null ? List.of() : List.of(queue);
  }

  /** Returns the queues, as {@link #of} does; of a mutex or read lock, those of both. */
  public Collection<WaitQueue> ofName(LockKey key) {
    if (key.kind() == LockKind.PERMIT) {
      return of(key);
    }
    List<WaitQueue> both = new ArrayList<>(2);
    WaitQueue mutex = mutexes.get(key.name());
    if (mutex != null) {
      both.add(mutex);
    }
    WaitQueue shared = readers.get(key.name());
    if (shared != null) {
      both.add(shared);
    }
    return both;
  }

  /** Returns all queues that are in use. */
  public Collection<WaitQueue> all() {
    if (separate.isEmpty() && readers.isEmpty()) {
      return mutexes.values();
    }
    List<WaitQueue> all = new ArrayList<>(mutexes.values());
    all.addAll(readers.values());
    separate.values().forEach(semaphore -> all.addAll(semaphore.queues()));
    return all;
  }

  /**
   * Checks that a thread that asks for a mutex does not own the read lock of that name: it would
   * wait for itself.
   *
   * @throws LockLostException it owns a read lease that was lost and is not closed
   * @throws IllegalStateException it owns the read lock
   */
  public void requireNoReader(LockKey mutex, Thread thread) {
    if (anyReader) {
      WaitQueue queue = readers.get(mutex.name());
      if (queue != null) {
        queue.requireNoReader(thread);
      }
    }
  }

  /**
   * Makes what happened before the ends of a writer's leases, which have ended, happen before what
   * follows, if the calling thread got the read lock; and the other way round. Within one queue,
   * its mutex does so.
   */
  public void seeOtherSide(LockKey key) {
    if (anyReader) {
      WaitQueue other =
          key.kind() == LockKind.READ ? mutexes.get(key.name()) : readers.get(key.name());
      // A queue that is no longer in use was removed after the ends, which the look saw.
      if (other != null) {
        boolean unused = other.isLed();
      }
    }
  }

  private ConcurrentHashMap<String, WaitQueue> byName(LockKey key) {
    return key.kind() == LockKind.READ ? readers : mutexes;
  }
}
