package io.holdfast.lock;

import java.time.Duration;
import java.time.Instant;

/** The holder of a lock, as its store told it at one moment. */
public interface LockHolder {
  /**
   * The first token of the holder's grant, which is what {@link DistributedLock#forceRelease(long)}
   * expects. The store does not see hand-offs within a client: the holder's own
   * {@link Lease#token()} is this one, or up to 1,023 above it.
   */
  long token();

  /** Client, host, process and thread for a human. The format is not specified. */
  String description();

  /**
   * The time at which the lock was granted (on stores that do not note that: at which its holder
   * asked), by the store's wall clock, or the holder's where the store has none. For a human, not
   * for arithmetic. {@link Instant#EPOCH} where nobody noted it, as for a holder on Consul that is
   * not Holdfast's.
   */
  Instant since();

  /** The time until the store frees the name if nothing renews it; never negative. */
  Duration remaining();

  /** Whether its holder is done, and only {@link LockOptions#minHold()} keeps the name taken. */
  boolean isReleased();
}
