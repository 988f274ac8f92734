package io.holdfast.lock.internal.event;

import io.holdfast.lock.spi.Claim;

/** A lease, as the events about it need it. */
public interface HeldLease {
  /** The claim that the store granted. */
  Claim claim();

  /** The lock's name. */
  default String lockName() {
    return claim().key().name();
  }

  /** The lease's token. */
  long token();

  /** The time at which it began, by the monotonic clock. */
  long sinceNanos();

  /** The Flight Recorder event that lasts from the acquisition to the end of the lease. */
  JfrEvents.Held jfrEvent();
}
