package io.holdfast.lock.internal;

import io.holdfast.lock.internal.queue.Handle;
import io.holdfast.lock.internal.queue.Hold;
import io.holdfast.lock.internal.queue.LeaseReference;
import io.holdfast.lock.internal.queue.LossListeners;
import io.holdfast.lock.internal.task.Workers;
import java.lang.ref.ReferenceQueue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Finds acquisitions that nobody can close any more: leases that became unreachable, and those of
 * {@code asLock()} whose thread has died.
 */
final class DroppedLeases {
  private final Workers settlers;

  /** The queue to register watched leases with. */
  final ReferenceQueue<LossListeners> references = new ReferenceQueue<>();

  /** Holds that were acquired through {@code asLock()}. */
  private final Set<Hold> threadOwned = ConcurrentHashMap.newKeySet();

  /** @param settlers the threads that settle what was dropped */
  DroppedLeases(Workers settlers) {
    this.settlers = settlers;
  }

  void watchThreadOf(Handle handle) {
    threadOwned.add(handle.hold());
  }

  void unwatchThreadOf(Hold hold) {
    threadOwned.remove(hold);
  }

  /** Looks for dropped leases and dead threads, and submits what it finds. */
  void find() {
    for (var reference = references.poll(); reference != null; reference = references.poll()) {
      settlers.submit(((LeaseReference) reference).handle().hold().grant());
    }
    threadOwned.removeIf(hold -> hold.grant().state().isOver() || isDropped(hold));
  }

  private boolean isDropped(Hold hold) {
    if (hold.acquirer().isAlive()) {
      return false;
    }
    settlers.submit(hold.grant());
    return true;
  }
}
