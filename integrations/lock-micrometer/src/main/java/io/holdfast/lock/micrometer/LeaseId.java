package io.holdfast.lock.micrometer;

import io.holdfast.lock.LockListener;

/** The identity of a client's lease. Nested handles share it. */
record LeaseId(String lockName, LockListener.Mode mode, long token) {
  static LeaseId of(LockListener.LeaseEvent event) {
    return new LeaseId(event.lockName(), event.mode(), event.token());
  }
}
