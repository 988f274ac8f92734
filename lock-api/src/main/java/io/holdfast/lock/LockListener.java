package io.holdfast.lock;

import java.time.Duration;
import java.util.Optional;

/**
 * An observer of a client's locks: for logging, metrics and tracing.
 *
 * <p>Threads: a caller's own steps ({@link #waiting}, {@link #waitsForItself}, {@link #acquired},
 * {@link #notAcquired}, {@link #released}) are told on the caller's thread, so these methods must
 * be quick. All other events are told on the client's callback executor, one at a time and in
 * order. While 10,000 of those are pending, newer ones are dropped, and a line is logged. Whatever
 * a listener throws is logged and goes no further.
 */
public interface LockListener {

  /**
   * A caller begins to wait, behind a thread of its own client or in the store's line. Told at most
   * once per call; {@link #acquired} or {@link #notAcquired} follows.
   */
  default void waiting(LockEvent event) {}

  /** A caller got a lease. */
  default void acquired(Acquired event) {}

  /**
   * A caller got no lease: the lock was taken, the wait timed out or was interrupted, or the call
   * failed.
   */
  default void notAcquired(NotAcquired event) {}

  /**
   * The holder closed the last handle of a lease. Told in the background if an open guard delayed
   * the release, or if the closing thread could not finish it.
   */
  default void released(Released event) {}

  /**
   * A lease became {@link LeaseState#UNCERTAIN}, for a reason other than a close. Told before the
   * {@link #confirmed} that ends it.
   */
  default void uncertain(LeaseEvent event) {}

  /** A lease that was uncertain is {@link LeaseState#HELD} again. */
  default void confirmed(LeaseEvent event) {}

  /**
   * A lease was extended: a renewed lease by its renewal, or a fixed one by its holder. Leases that
   * are renewed together are told one by one.
   */
  default void renewed(LeaseEvent event) {}

  /** A lease was lost. */
  default void lost(Lost event) {}

  /**
   * A lease became unreachable without being closed, or the thread that acquired it through
   * {@link DistributedLock#asLock()} died. It is no longer renewed.
   */
  default void leaked(LeaseEvent event) {}

  /**
   * A thread asks for a lock although a lease that it acquired itself is still open and cannot be
   * re-entered (see {@link Ownership#LEASE}): often a deadlock. Told on the caller's thread, before
   * it waits.
   */
  default void waitsForItself(LockEvent event) {}

  /** An event about a lock. Only the engine implements these interfaces. */
  interface LockEvent {
    /** The lock's name. There can be very many: do not use it as a metric tag. */
    String lockName();

    /**
     * The mode in which the call asks for the lock; later in a lease's life, that of the call that
     * acquired it first.
     */
    Mode mode();
  }

  /** The mode in which a lock is asked for. Constants may be added. */
  enum Mode {
    /** For itself: a lock, or the write lock of a {@link DistributedReadWriteLock}. */
    EXCLUSIVE,
    /** Shared with others that read: the read lock of a {@link DistributedReadWriteLock}. */
    READ,
    /** One permit of a {@link DistributedSemaphore}. */
    PERMIT
  }

  /** An event about a lease. */
  interface LeaseEvent extends LockEvent {
    /** The lease's token. */
    long token();
  }

  /** A successful acquisition. */
  interface Acquired extends LeaseEvent {
    /** The time from the call to the lease. */
    Duration waited();

    /** The origin of the lease. */
    Source source();
  }

  /** The origin of a lease. Constants may be added. */
  enum Source {
    /** The store granted it. */
    STORE,
    /** A thread of the same client handed it on. */
    LOCAL_HAND_OFF,
    /** The thread held the lock already. */
    REENTRANT,
    /** A reader of the same client had asked the store, and shares its grant. */
    SHARED
  }

  /** An acquisition that gave no lease. */
  interface NotAcquired extends LockEvent {
    /** The time from the call to its end. */
    Duration waited();

    /** The exception that ended the call; empty if the lock was taken, or stayed taken. */
    Optional<Throwable> failure();
  }

  /** The end of a lease by its holder. */
  interface Released extends LeaseEvent {
    /** The time from the acquisition to the close. */
    Duration held();

    /**
     * Whether the store confirmed the release, or the next thread of the client took the lease
     * over. If not, the release is tried again in the background until the TTL is over.
     */
    boolean confirmed();
  }

  /** The loss of a lease. */
  interface Lost extends LeaseEvent {
    /** The details of the loss. */
    LeaseLoss loss();
  }
}
