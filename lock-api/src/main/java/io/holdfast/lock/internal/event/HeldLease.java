package io.holdfast.lock.internal.event;

/** A lease, as listeners are told of it. */
public interface HeldLease {
  /** The lock's name. */
  String lockName();

  /** The lease's token. */
  long token();

  /** The time at which it began, by the monotonic clock. */
  long sinceNanos();

  /** For Flight Recorder: from the lease to its end. */
  JfrEvents.Held jfrEvent();
}
