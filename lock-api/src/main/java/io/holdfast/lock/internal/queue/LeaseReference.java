package io.holdfast.lock.internal.queue;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;

/** A weak reference to a user's lease, enqueued when the lease became unreachable. */
public final class LeaseReference extends WeakReference<LossListeners> {
  private final Handle handle;

  LeaseReference(LossListeners lease, Handle handle, ReferenceQueue<LossListeners> queue) {
    super(lease, queue);
    this.handle = handle;
  }

  /** Returns the engine's handle of that lease. */
  public Handle handle() {
    return handle;
  }
}
