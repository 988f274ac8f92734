package io.holdfast.lock.internal;

import io.holdfast.lock.PermitLease;
import io.holdfast.lock.internal.queue.Handle;
import io.holdfast.lock.spi.PermitGrant;

/** The user's side of an acquisition of a permit. */
final class EnginePermit extends EngineLease implements PermitLease {
  EnginePermit(Leases leases, Handle handle) {
    super(leases, handle);
  }

  @Override
  public int permit() {
    // An attempt takes no other grant for a semaphore.
    return ((PermitGrant) grant().grant()).permit();
  }

  @Override
  public PermitLease detach() {
    super.detach();
    return this;
  }
}
