package io.holdfast.lock.internal;

import io.holdfast.lock.Lease;
import io.holdfast.lock.internal.queue.Handle;

/** The user's side of an acquisition of a lock, or of a permit. */
class EngineLease extends HandleLease implements Lease {
  EngineLease(Leases leases, Handle handle) {
    super(leases, handle);
  }

  @Override
  public Lease detach() {
    detachFromThread();
    return this;
  }
}
