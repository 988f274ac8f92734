package io.holdfast.lock.internal.event;

/** A lease, as the events about it need it. */
public interface HeldLease {
  /** The lock's name. */
  String lockName();

  /** The lease's token. */
  long token();

  /** The time at which it began, by the monotonic clock. */
  long sinceNanos();

  /** The Flight Recorder event that lasts from the acquisition to the end of the lease. */
  JfrEvents.Held jfrEvent();
}
