package io.holdfast.lock.internal;

import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;

/** Enqueued when a {@link LeaseHandle} became unreachable. */
final class LeakReference extends PhantomReference<LeaseHandle> {
  private final Handle handle;

  LeakReference(LeaseHandle leaseHandle, Handle handle, ReferenceQueue<LeaseHandle> queue) {
    super(leaseHandle, queue);
    this.handle = handle;
  }

  Handle handle() {
    return handle;
  }
}
