package io.holdfast.lock;

import java.time.Duration;
import java.util.function.Consumer;

/**
 * The right to what was acquired, until {@link #close()} or until it is lost. Each acquisition,
 * nested ones included, has its own handle.
 *
 * <p>A lease is valid until its local deadline. The deadline is measured on the monotonic clock,
 * from before the request that got the lease was sent, and renewal moves it ahead. A lease cannot
 * stop a late write: a process that was paused past the deadline can still send one. Its fencing
 * token is against that.
 *
 * <p>A lease that becomes unreachable without {@code close()} is no longer renewed, and a warning
 * names it. Its {@link #onLost} listeners are dropped with it and are not called, even if they
 * refer to the lease.
 *
 * <p>Threads: every method may be called from any thread. {@link #verify()}, {@code extend()} and
 * {@link #close()} do I/O; {@link #ensureHeld()} and {@link #detach()} do so only if the wall clock
 * casts doubt on the lease. All other methods return at once.
 */
public interface AnyLease extends AutoCloseable {

  /** Returns the state of this handle, as far as the client knows. No I/O. */
  @CheckReturnValue
  LeaseState state();

  /**
   * Whether the lease is valid by the local clocks. No I/O. False from the local deadline on, even
   * if none of the client's threads has run since. False if the wall clock shows that the machine
   * may have been suspended, until the store has confirmed the lease. False once a close has begun.
   */
  @CheckReturnValue
  boolean isHeld();

  /**
   * Checks that the lease is valid, and throws if it is not; for use in loops of long work. No I/O
   * while {@link #isHeld()} is true.
   *
   * <p>If the lease is only in doubt because the wall clock ran ahead, this asks the store, as
   * {@link #verify()} does. So a clock that was set forward costs one request, and not the work.
   *
   * @throws LockLostException the lease is no longer valid: stop the work
   * @throws LockStoreException the lease is in doubt, and the store gave no usable answer; it stays
   *     {@link LeaseState#UNCERTAIN}
   * @throws IllegalStateException this handle was closed
   */
  void ensureHeld();

  /**
   * Asks the store whether this lease still has the lock. If this returns, the lease had it at some
   * moment after the call began. If the machine slept or a session was suspended during the
   * request, the store is asked again.
   *
   * <p>This does not extend the lease: the deadline moves no later, however often you ask. (There
   * is one exception: on a store with sessions, a fixed lease may be trusted for less than its TTL
   * at a time. Its deadline then moves later, up to the lease's own end.)
   *
   * @throws LockLostException the lease is no longer valid: stop the work
   * @throws LockStoreException the store gave no usable answer; the lease is
   *     {@link LeaseState#UNCERTAIN}
   * @throws IllegalStateException this handle was closed
   */
  void verify();

  /**
   * Extends a fixed lease, so that it lasts for at least {@code ttl} from now (less the drift
   * allowance). Never shortens it. Nested handles of the same lease are extended with it.
   *
   * @param ttl longer than the client's store timeout, at most 365 days, rounded down to the
   *     microsecond, like the TTL in {@link LockOptions}
   * @throws IllegalArgumentException the time is out of range
   * @throws LockLostException the lease is no longer valid and was not extended
   * @throws LockStoreException the store gave no usable answer; the lease ends when it would have
   *     ended, or later
   * @throws IllegalStateException this handle was closed, or the lease is renewed automatically and
   *     needs no extension
   */
  void extend(Duration ttl);

  /**
   * Extends a fixed lease, as {@link #extend(Duration)} does, and its minimum hold: the name stays
   * taken for at least {@code minHold} from now, even if the lease is closed earlier (see
   * {@link LockOptions#withMinHold}). Never shortens either of the two. Without an answer of the
   * store, the minimum hold stays as it was.
   *
   * @param minHold zero to {@code ttl}, rounded down to the microsecond; with zero, this is the
   *     same as {@link #extend(Duration)}
   * @throws IllegalArgumentException one of the times is out of range
   * @throws LockLostException the lease is no longer valid and was not extended
   * @throws LockStoreException the store gave no usable answer; the lease ends when it would have
   *     ended, or later
   * @throws IllegalStateException this handle was closed, or the lease is renewed automatically and
   *     needs no extension
   */
  void extend(Duration ttl, Duration minHold);

  /**
   * Returns the time left until the local deadline, or zero if the lease is not held. No I/O.
   *
   * <p>Right after the acquire, a renewed lease can have less than its TTL left: on a store with
   * sessions, if the session may end sooner, or if the lock was handed over by its previous holder.
   * The first renewals bring it up to the most that the store allows.
   */
  @CheckReturnValue
  Duration remaining();

  /**
   * Returns the longest time for which the name can stay taken if this process dies now. That is
   * the TTL, the longest that the lease was given or extended with; or, on a store with sessions,
   * some multiple of the session's timeout, which the store's page explains.
   */
  @CheckReturnValue
  Duration crashBound();

  /**
   * Registers a listener that is called once if this lease is lost before this handle is closed (if
   * a guard is open then, before the lease is released), or at once if it has been lost already. It
   * is not called after a clean close.
   *
   * <p>The listener runs on the client's callback executor if there is one, or else on a thread of
   * the client. An exception from it is logged and has no other effect. A slow listener never
   * delays a renewal, and delays other listeners only while 32 of them are slow at once, or while
   * the executor has no free thread.
   *
   * <p>The listener may refer to this lease: the lease can still be garbage-collected if it is
   * dropped without a close, and its listeners are then not called.
   */
  void onLost(Consumer<? super LeaseLoss> listener);

  /**
   * Detaches this lease from its owner thread, so that another thread may carry on with it. The
   * former owner can no longer re-enter it. Does nothing if the lease has no owner thread. Checks
   * first that the lease is valid, as {@link #ensureHeld()} does.
   *
   * @return this lease
   * @throws IllegalStateException the calling thread does not own the lease, nested handles of it
   *     are open, or this handle was closed
   * @throws LockLostException the lease was lost
   * @throws LockStoreException the lease is in doubt, and the store gave no usable answer; nothing
   *     was changed
   */
  AnyLease detach();

  /**
   * Ends this acquisition. Closing the last handle frees the lock, or hands it to the next waiting
   * thread of this client. Idempotent, allowed from any thread, and never ends another holder's
   * lease. Costs one request, or none if the handle is nested or the lock is handed on.
   * {@link #isHeld()} is false as soon as the close has begun; until the store has answered, the
   * state is {@link LeaseState#UNCERTAIN}.
   *
   * <p>If the store cannot be reached, this does not throw, since the work was exclusive. It logs a
   * warning, tells the {@link LockListener}s, and goes on trying in the background until the TTL is
   * over. There is one exception. If the machine may have slept since the store last confirmed the
   * lease, only the store knows whether the work was exclusive: unless it says so, this throws a
   * {@link LockLostException}.
   *
   * @throws LockLostException the lease was lost, or may have been: assume that another holder has
   *     been at work since
   * @throws IllegalStateException a guard is open on this lease, which was not lost: the lease is
   *     no longer renewed, and is released when the guard is closed
   */
  @Override
  void close() throws LockLostException;
}
