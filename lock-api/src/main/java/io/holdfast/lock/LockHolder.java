package io.holdfast.lock;

import java.time.Duration;

/** Who has a lock, as its store told it at one moment. */
public interface LockHolder {
  /**
   * A token of the holder's grant, which is what {@link DistributedLock#forceRelease(long)}
   * expects. The holder's own {@link Lease#token()} can be above it after hand-offs within its
   * client.
   */
  long token();

  /** Client, host, process and thread for a human. The format is not specified. */
  String description();

  /** The time until the store frees the name if nothing renews it; never negative. */
  Duration remaining();

  /** Whether its holder is done, and only {@link LockOptions#minHold()} keeps the name taken. */
  boolean isReleased();
}
