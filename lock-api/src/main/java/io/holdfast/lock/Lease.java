package io.holdfast.lock;

import java.time.Duration;
import java.util.function.Consumer;

/**
 * The right to a lock until {@link #close()} or until it is lost. One handle per acquisition,
 * nested ones too.
 *
 * <p>A lease is a promise about time: it is valid until its local deadline, which counts from
 * before the request that got it was sent, on the monotonic clock, and is kept ahead by renewal. It
 * says nothing about writes that are already on their way: a process that was paused past its
 * deadline can still send one. {@link #token()} and the store's guard are for that.
 *
 * <p>A lease that becomes unreachable without {@code close()} is no longer renewed, and a warning
 * names it. Its {@link #onLost} listeners go with it, whether they mention it or not.
 *
 * <p>Threads: every method may be called from any thread. {@link #verify()},
 * {@link #extend(Duration)} and {@link #close()} do I/O, and so do {@link #ensureHeld()} and
 * {@link #detach()} of a lease that the wall clock put in doubt; the rest returns at once.
 */
public interface Lease extends AutoCloseable {

  /** The name of the lock. */
  @CheckReturnValue
  String name();

  /**
   * The fencing token: above that of every earlier acquisition of this name, except nested ones,
   * which share it. Fixed, and readable after the lease's end: a stale token is meant to be refused
   * by whatever it is sent to.
   */
  @CheckReturnValue
  long token();

  /** The state of this handle, as far as it knows now. No I/O. */
  @CheckReturnValue
  LeaseState state();

  /**
   * Whether the lease still stands by our own clocks: false from the local deadline on, even if no
   * thread of ours has run since; false while the wall clock says that the machine may have been
   * suspended, until the store has confirmed the lease; false once a close has begun. No I/O.
   */
  @CheckReturnValue
  boolean isHeld();

  /**
   * Returns if the lease stands; for loops of long work. No I/O while {@link #isHeld()}.
   *
   * <p>A lease that is only in doubt because the wall clock ran ahead is not lost: this asks the
   * store then, as {@link #verify()} does, so that a clock that was set costs one request, and not
   * the work.
   *
   * @throws LockLostException the lease does not stand; stop
   * @throws LockStoreException the lease is in doubt, and the store gave no usable answer; it stays
   *     {@link LeaseState#UNCERTAIN}
   * @throws IllegalStateException this handle was closed
   */
  void ensureHeld();

  /**
   * Asks the store. Returning means that the store showed this lease as the holder after the call
   * began. It asks again where the machine slept meanwhile, or a session was suspended.
   *
   * <p>This extends nothing: the deadline moves no later, however often you ask. (Where a fixed
   * lease is trusted for less than its TTL at a time, since it lives in a session, the deadline
   * moves up to the lease's own end.)
   *
   * @throws LockLostException the lease does not stand; stop
   * @throws LockStoreException the store gave no usable answer; the lease is
   *     {@link LeaseState#UNCERTAIN}
   * @throws IllegalStateException this handle was closed
   */
  void verify();

  /**
   * Gives a fixed lease more time: it ends not before {@code ttl} from now, the drift allowance
   * aside. Never shortens it. Other handles of the same lease have that time too.
   *
   * @param ttl as the TTL in {@link LockOptions}: longer than the client's store timeout, at most
   *     365 days, kept to the microsecond
   * @throws IllegalArgumentException the time is out of range
   * @throws LockLostException the lease does not stand; it was not extended
   * @throws LockStoreException the store gave no usable answer; the lease ends when it did before,
   *     or later
   * @throws IllegalStateException this handle was closed, or its leases are renewed: those are
   *     extended by themselves
   */
  void extend(Duration ttl);

  /**
   * The time left until the local deadline; zero if the lease is not held. No I/O.
   *
   * <p>A renewed lease can have less than its TTL right after the acquire, where the session may
   * end sooner or the lock was handed over by its last holder; renewal brings it to what it can
   * have.
   */
  @CheckReturnValue
  Duration remaining();

  /**
   * The longest time for which the name can stay taken if this process dies now: the TTL or the
   * session's timeout, as the store has it.
   */
  @CheckReturnValue
  Duration crashBound();

  /**
   * Calls back once if this lease is lost before this handle is closed; also if it already is.
   * Never after a clean close.
   *
   * <p>The listener runs on the client's callback executor, or on a thread of the client. One that
   * throws delays nothing. A slow one delays no renewal; other listeners it delays only while 32 of
   * them are slow at once, or the executor has no thread left.
   *
   * <p>It may mention this lease: listeners are kept in the lease, and a lease that is dropped is
   * found all the same. Then its listeners are not called.
   */
  void onLost(Consumer<? super LeaseLoss> listener);

  /**
   * Takes this lease from its owner thread, so that any thread may carry it on: the thread can no
   * longer re-enter it. Does nothing if it has no owner thread. Looks first as
   * {@link #ensureHeld()} does.
   *
   * @return this lease
   * @throws IllegalStateException the calling thread does not own it, it has nested handles that
   *     are open, or this handle was closed
   * @throws LockLostException the lease was lost
   * @throws LockStoreException the lease is in doubt, and the store gave no usable answer; nothing
   *     was changed
   */
  Lease detach();

  /**
   * Ends this acquisition; the last one frees the lock, or hands it to the next thread of this
   * client. Idempotent, from any thread, and never ends somebody else's lease. One request, or none
   * if the lease is nested or handed on. From its beginning {@link #isHeld()} is false; until the
   * store has answered, the state is {@link LeaseState#UNCERTAIN}.
   *
   * <p>If the store cannot be reached, this logs, tells the listener, goes on trying in the
   * background until the TTL is over, and does not throw: the work was exclusive.
   *
   * @throws LockLostException the lease was lost before: assume that another held the lock
   *     meanwhile
   * @throws IllegalStateException a guard is open on this lease; it is no longer renewed, and is
   *     released when the guard ends
   */
  @Override
  void close() throws LockLostException;
}
