package io.holdfast.lock.micrometer;

import io.holdfast.lock.LockListener;

/** A lease of one client: no two have the same name and token, but for nested handles. */
record LeaseId(String lockName, long token) {
  static LeaseId of(LockListener.LeaseEvent event) {
    return new LeaseId(event.lockName(), event.token());
  }
}
