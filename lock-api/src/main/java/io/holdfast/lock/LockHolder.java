package io.holdfast.lock;

import java.time.Duration;
import java.time.Instant;

/** The holder of a lock, as the store showed it at one moment. */
public interface LockHolder {
  /** The name of the lock. */
  String name();

  /**
   * The first token of the holder's grant; {@link DistributedLock#forceRelease(long)} accepts it.
   * The store does not see hand-offs within a client, so the holder's own {@link Lease#token()} is
   * this one or up to 1,023 higher.
   */
  long token();

  /**
   * A description of the holder for humans: client, host, process and thread. The format is not
   * specified.
   */
  String description();

  /**
   * The time at which the lock was granted; on stores that do not record that, the time at which
   * the holder asked for it. Read from the store's wall clock, or from the holder's if the store
   * has none: for humans, not for arithmetic. {@link Instant#EPOCH} if no time was recorded, as for
   * a holder on Consul that does not use Holdfast.
   */
  Instant since();

  /** The time after which the store frees the name unless the lease is renewed; never negative. */
  Duration remaining();

  /**
   * Whether the holder has closed its lease, and only {@link LockOptions#minHold()} keeps the name
   * taken.
   */
  boolean isReleased();
}
