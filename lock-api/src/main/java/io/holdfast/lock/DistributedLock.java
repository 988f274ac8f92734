package io.holdfast.lock;

import java.util.Optional;
import java.util.concurrent.locks.Lock;

/**
 * A named lock that has at most one holder at a time, across all JVMs that use the same store. An
 * instance is a cheap, stateless view of a name and options: get one wherever you need it.
 *
 * <p>With {@link Ownership#THREAD} (the default) a thread that holds the lock may acquire it again.
 * That costs no round trip, and the last close frees the lock. With {@link Ownership#LEASE} every
 * acquisition is a separate owner.
 *
 * <p>Acquiring methods also throw a {@link LockLostException} if the calling thread owns a lease of
 * this lock that was lost and has not been closed (close that one first), and an
 * {@link IllegalStateException} if it owns the lock with other options.
 *
 * <p>Threads of one client that wait for the same name form a fair queue, and only one of them at a
 * time asks the store; if that one gets a {@link LockStoreException}, so do those behind it. The
 * order between clients depends on the store; the store's page in the documentation says what it
 * promises. A thread whose turn comes within its client is the last in the store's line.
 *
 * <p>A call that does not wait ({@link #tryLock()}) finds the lock taken, without a round trip,
 * while a thread of its client holds the lock, or waits for it at the store. While another thread
 * of its client is asking the store, or releasing the lock, it waits for that thread's answer, for
 * at most about one store timeout. If that thread gets the lock, or finds it taken, this call finds
 * it taken; if that thread gets a {@link LockStoreException}, so does this call. If it ends without
 * an answer (it was interrupted, or released the lock), this call asks the store itself.
 *
 * <p>Memory: among threads of one client, actions before {@link Lease#close()} happen-before
 * actions after the next successful acquire of the same name. Between clients there is no such
 * edge: send {@link Lease#token()} with every write, or use the store's guard.
 *
 * <p>Threads: safe for use by any number of threads, virtual threads included.
 */
public interface DistributedLock extends Acquirable<Lease> {

  /** Returns the name, exactly as it was passed to the client. */
  @CheckReturnValue
  String name();

  @Override
  @CheckReturnValue
  DistributedLock with(LockOptions options);

  /**
   * Whether the calling thread owns a lease of this lock, through this client, that is open and
   * valid. No I/O.
   */
  @CheckReturnValue
  boolean isHeldByCurrentThread();

  /**
   * Asks the store for the lock's holder, whichever client it belongs to.
   *
   * @return the holder, or empty if the lock was free at that moment
   * @throws LockStoreException the store gave no usable answer
   * @throws LockClientClosedException the client was closed
   */
  @CheckReturnValue
  Optional<LockHolder> inspect();

  /**
   * Frees the lock by force if the grant that this token belongs to still has it; for
   * administrators. This breaks mutual exclusion: the holder may still be at work, and learns of
   * the loss only at its next renewal or {@link Lease#verify()}.
   *
   * @param expectedToken the token that {@link #inspect()} showed, or any other token of the same
   *     grant
   * @return true if that grant had the lock and has it no more; false if it did not have it, and
   *     nothing was changed
   * @throws IllegalArgumentException the token is not positive
   * @throws LockStoreException the store gave no usable answer; the lock may have been freed
   * @throws LockClientClosedException the client was closed
   */
  @CheckReturnValue
  boolean forceRelease(long expectedToken);

  /**
   * Returns this lock as a {@link Lock}, for code that needs one. {@code lock()} ignores
   * interrupts. {@code unlock()} throws {@link IllegalMonitorStateException} if the thread does not
   * own the lock, and {@link LockLostException} if the lease was lost. {@code newCondition()} is
   * unsupported. If a thread dies while it holds the lock, the lease is no longer renewed, and
   * ends.
   *
   * @throws IllegalStateException this view has {@link Ownership#LEASE}: a {@code Lock} belongs to
   *     a thread
   */
  @CheckReturnValue
  Lock asLock();
}
