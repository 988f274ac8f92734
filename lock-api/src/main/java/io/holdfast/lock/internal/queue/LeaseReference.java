package io.holdfast.lock.internal.queue;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;

/** Enqueued when a user's lease became unreachable. */
public final class LeaseReference extends WeakReference<LossListeners> {
  private final Handle handle;

  LeaseReference(LossListeners lease, Handle handle, ReferenceQueue<LossListeners> queue) {
    super(lease, queue);
    this.handle = handle;
  }

  /** The engine's side of that lease. */
  public Handle handle() {
    return handle;
  }
}
