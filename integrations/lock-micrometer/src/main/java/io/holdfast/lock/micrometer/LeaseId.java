package io.holdfast.lock.micrometer;

import io.holdfast.lock.LockListener;

/** The identity of a client's lease: its lock's name and its token. Nested handles share it. */
record LeaseId(String lockName, long token) {
  static LeaseId of(LockListener.LeaseEvent event) {
    return new LeaseId(event.lockName(), event.token());
  }
}
