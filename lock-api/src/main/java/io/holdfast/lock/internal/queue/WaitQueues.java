package io.holdfast.lock.internal.queue;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The wait queues of one client: for exclusive claims exactly one for each name in use, and none
 * for other names. Of those that are not exclusive, a name can have several: one for each grant,
 * the one that is asked for included. The attempts of a semaphore have nothing to do with each
 * other.
 */
public final class WaitQueues {
  private final ConcurrentHashMap<LockKey, WaitQueue> exclusive = new ConcurrentHashMap<>();

  private final ConcurrentHashMap<LockKey, Separate> separate = new ConcurrentHashMap<>();

  /** The queues of the readers of a name, or of a semaphore. */
  private static final class Separate {
    private final Set<WaitQueue> queues = ConcurrentHashMap.newKeySet();
    private final RecentReads reads = new RecentReads();

    /** Returns the queue in which a thread owns a lease. */
    @Nullable
    WaitQueue ownedBy(Thread thread) {
      for (WaitQueue queue : queues) {
        if (queue.ownedBy(thread) != null) {
          return queue;
        }
      }
      return null;
    }

    /**
     * Returns the queue in which a thread owns a read; else one whose grant it can join, or wait
     * for.
     */
    @Nullable
    WaitQueue forReader(Thread thread, @Nullable Long joinsAtNanos) {
      WaitQueue owned = ownedBy(thread);
      if (owned != null) {
        return owned;
      }
      WaitQueue asking = null;
      for (WaitQueue queue : queues) {
        ShareWindow window = Objects.requireNonNull(queue.window);
        if (!window.isGranted()) {
          asking = queue;
        } else if (joinsAtNanos != null && window.isOpen(joinsAtNanos)) {
          return queue;
        }
      }
      return asking;
    }
  }

  private final Consumer<Hold> releaser;

  /** @param releaser releases the holds that their closing threads could not */
  public WaitQueues(Consumer<Hold> releaser) {
    this.releaser = releaser;
  }

  /**
   * Returns the queue for a thread that wants this lock in this mode: one in which it owns it, or
   * may wait, or a new one. Keeps it until {@link #endUse}.
   *
   * @param joinsAtNanos the time, if it may join readers who have their grant; else null
   * @throws IllegalStateException the thread owns a read, and asks for the lock for itself
   */
  public WaitQueue use(LockKey key, Claim.Mode mode, Thread thread, @Nullable Long joinsAtNanos) {
    if (mode instanceof Claim.Exclusive) {
      requireNoRead(key, thread);
      return useExclusive(key);
    }
    WaitQueue owned = mode instanceof Claim.Shared ? exclusive.get(key) : null;
    return owned != null && owned.ownedBy(thread) != null
        ? useExclusive(key)
        : useSeparate(key, mode, thread, joinsAtNanos);
  }

  /**
   * Checks that a thread does not own a read of this name.
   *
   * @throws IllegalStateException it does: it would wait for itself
   */
  public void requireNoRead(LockKey key, Thread thread) {
    Separate reads = separate.isEmpty() ? null : separate.get(key);
    if (reads != null && reads.ownedBy(thread) != null) {
      throw new IllegalStateException(
          ("This thread owns a read of lock '%s' and asks for the write lock: it would wait for"
                  + " itself. Close the read first, and look again at what was read")
              .formatted(key.name()));
    }
  }

  private WaitQueue useExclusive(LockKey key) {
    return exclusive.compute(key, (k, existing) -> {
      WaitQueue queue =
          existing == null ? new WaitQueue(k, Claim.EXCLUSIVE, null, releaser) : existing;
      queue.users++;
      return queue;
    });
  }

  private WaitQueue useSeparate(
      LockKey key, Claim.Mode mode, Thread thread, @Nullable Long joinsAtNanos) {
    WaitQueue[] used = new WaitQueue[1];
    separate.compute(key, (k, existing) -> {
      Separate all = existing == null ? new Separate() : existing;
      boolean reads = mode instanceof Claim.Shared;
      WaitQueue queue = reads ? all.forReader(thread, joinsAtNanos) : null;
      if (queue == null) {
        queue = new WaitQueue(k, mode, reads ? new ShareWindow(all.reads) : null, releaser);
        all.queues.add(queue);
      }
      queue.users++;
      used[0] = queue;
      return all;
    });
    return used[0];
  }

  /** Ends one {@link #use}, by a call or by the hold that it led to. */
  public void endUse(WaitQueue queue) {
    if (queue.mode instanceof Claim.Exclusive) {
      exclusive.computeIfPresent(
          queue.key(),
          (k, existing) -> existing == queue && --existing.users == 0 ? null : existing);
      return;
    }
    separate.computeIfPresent(queue.key(), (k, all) -> {
      if (--queue.users == 0) {
        all.queues.remove(queue);
      }
      return all.queues.isEmpty() ? null : all;
    });
  }

  /**
   * Returns the queue in which a thread owns this lock, lost or not, so that it can use it in this
   * mode: who has it for himself can also read. Allocates nothing for an exclusive one.
   */
  public @Nullable WaitQueue ownedBy(LockKey key, Claim.Mode mode, Thread thread) {
    WaitQueue queue = exclusive.get(key);
    if (queue != null && queue.ownedBy(thread) != null) {
      return queue;
    }
    Separate reads = mode instanceof Claim.Exclusive ? null : separate.get(key);
    return reads == null ? null : reads.ownedBy(thread);
  }

  /** Returns the queues of this name that are in use. */
  public Collection<WaitQueue> of(LockKey key) {
    WaitQueue queue = exclusive.get(key);
    Separate others = separate.isEmpty() ? null : separate.get(key);
    if (others == null) {
      return queue == null ? List.of() : List.of(queue);
    }
    List<WaitQueue> all = new ArrayList<>(others.queues);
    if (queue != null) {
      all.add(queue);
    }
    return all;
  }

  /** Returns all queues that are in use. */
  public Collection<WaitQueue> all() {
    if (separate.isEmpty()) {
      return exclusive.values();
    }
    List<WaitQueue> all = new ArrayList<>(exclusive.values());
    separate.values().forEach(others -> all.addAll(others.queues));
    return all;
  }
}
