package io.holdfast.lock;

import java.time.Duration;
import java.util.Optional;

/**
 * An observer of a client's locks: for logging, metrics and tracing.
 *
 * <p>Threads: a caller's own steps ({@link #waiting}, {@link #waitsForItself}, {@link #acquired},
 * {@link #notAcquired}, {@link #released}) are told on the caller's thread, so be quick there; the
 * rest comes on the client's callback executor, one event at a time, in order. A listener that is
 * 10,000 of those behind is not told of the newest, and a line is logged. What a listener throws is
 * logged and goes no further.
 */
public interface LockListener {

  /**
   * A caller begins to wait: behind a thread of its client, or in the store's line. Once for a
   * call; {@link #acquired} or {@link #notAcquired} follows.
   */
  default void waiting(LockEvent event) {}

  /** A caller has a lease. */
  default void acquired(Acquired event) {}

  /**
   * A caller went without: the lock was taken, the wait ran out or was interrupted, or it failed.
   */
  default void notAcquired(NotAcquired event) {}

  /**
   * The last handle of a lease was closed by its holder. Told in the background if an open guard
   * had put the release off, or the closing thread could not finish it.
   */
  default void released(Released event) {}

  /**
   * A lease became {@link LeaseState#UNCERTAIN}, other than by a close. Told before the
   * {@link #confirmed} that ends it.
   */
  default void uncertain(LeaseEvent event) {}

  /** A lease that was uncertain is {@link LeaseState#HELD} again. */
  default void confirmed(LeaseEvent event) {}

  /**
   * The store extended a renewed lease, or the holder extended a fixed one. Leases that are renewed
   * together are told one by one.
   */
  default void renewed(LeaseEvent event) {}

  /** A lease was lost. */
  default void lost(Lost event) {}

  /**
   * A lease became unreachable without being closed, or the thread died that had acquired it
   * through {@link DistributedLock#asLock()}. It is no longer renewed.
   */
  default void leaked(LeaseEvent event) {}

  /**
   * A thread asks for a lock whose open lease it acquired itself, with {@link Ownership#LEASE}:
   * often a deadlock. Told on the caller's thread, before it waits.
   */
  default void waitsForItself(LockEvent event) {}

  /** About a lock. Events are read by listeners and made by the engine only. */
  interface LockEvent {
    /** The lock's name. Of high cardinality: no metric tag. */
    String lockName();
  }

  /** About a lease. */
  interface LeaseEvent extends LockEvent {
    /** The lease's token. */
    long token();
  }

  /** A successful acquisition. */
  interface Acquired extends LeaseEvent {
    /** From the call to the lease. */
    Duration waited();

    /** Its origin. */
    Source source();
  }

  /** The origin of a lease. Constants may be added. */
  enum Source {
    /** The store granted it. */
    STORE,
    /** A thread of the same client passed it on. */
    LOCAL_HAND_OFF,
    /** The thread had it already. */
    REENTRANT
  }

  /** An acquisition that gave no lease. */
  interface NotAcquired extends LockEvent {
    /** From the call to its end. */
    Duration waited();

    /** Empty: the lock was taken. Otherwise what the caller gets. */
    Optional<Throwable> failure();
  }

  /** The end of a lease by its holder. */
  interface Released extends LeaseEvent {
    /** From the lease to its close. */
    Duration held();

    /** Whether the store (or a local successor) took it back; if not, we go on trying. */
    boolean confirmed();
  }

  /** The loss of a lease. */
  interface Lost extends LeaseEvent {
    /** Its loss. */
    LeaseLoss loss();
  }
}
