package io.holdfast.lock.internal.queue;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;

/** A weak reference to a user's lease, enqueued when the lease became unreachable. */
public final class LeaseReference extends WeakReference<LossListeners> {
  private final Handle handle;

  private LeaseReference(LossListeners lease, Handle handle, ReferenceQueue<LossListeners> queue) {
    super(lease, queue);
    this.handle = handle;
  }

  /** Watches the user's lease: if it becomes unreachable, its reference is enqueued. */
  public static void watch(
      Handle handle, LossListeners lease, ReferenceQueue<LossListeners> queue) {
    handle.leaseReference = new LeaseReference(lease, handle, queue);
  }

  /** Returns the engine's handle of that lease. */
  public Handle handle() {
    return handle;
  }
}
