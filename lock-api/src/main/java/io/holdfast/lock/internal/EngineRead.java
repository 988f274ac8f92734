package io.holdfast.lock.internal;

import io.holdfast.lock.ReadLease;
import io.holdfast.lock.internal.queue.Handle;

/** The user's side of an acquisition of a read lock. */
final class EngineRead extends HandleLease implements ReadLease {
  EngineRead(Leases leases, Handle handle) {
    super(leases, handle);
  }

  @Override
  public ReadLease detach() {
    detachFromThread();
    return this;
  }
}
