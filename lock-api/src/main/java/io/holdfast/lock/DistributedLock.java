package io.holdfast.lock;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.Lock;

/**
 * A named lock that has at most one holder at a time, across all JVMs that use the same store; or a
 * semaphore, which has at most as many as it has permits: {@link LockClient#semaphore(String, int)}
 * says what is different then. An instance is a cheap, stateless view of a name and options: get
 * one wherever you need it.
 *
 * <p>With {@link Ownership#THREAD} (the default) a thread that holds the lock may acquire it again.
 * That costs no round trip, and the last close frees the lock. With {@link Ownership#LEASE} every
 * acquisition is a separate owner.
 *
 * <p>Threads of one client that wait for the same name form a fair queue, and only one of them at a
 * time asks the store. The order between clients depends on the store; the store's page in the
 * documentation says what it promises.
 *
 * <p>A lease is valid by the local clocks when an acquiring method returns it. A grant that expired
 * before it arrived, because the store was slow or the machine slept, is given back, and the lock
 * is asked for again; if no time is left for that, the caller gets a {@link LockStoreException}. A
 * grant that the wall clock casts doubt on, since the machine may have slept, is returned only once
 * the store has confirmed it.
 *
 * <p>Every acquiring method can also throw the following, in addition to what it lists:
 *
 * <ul>
 *   <li>{@link LockStoreException} if the store gave no usable answer. The caller holds nothing,
 *       and the name may stay taken for up to one TTL. Threads that wait behind the failing one in
 *       the client's queue get the exception too. A failure is never reported as "taken": that is
 *       the answer only if the store, or a holder in this client, says so.
 *   <li>{@link LockLostException} if the calling thread owns a lease of this lock that was lost and
 *       has not been closed: close that one first.
 *   <li>{@link LockClientClosedException} if the client was closed before or during the call;
 *       nothing is held.
 *   <li>{@link IllegalStateException} if the calling thread owns this lock with other options.
 *   <li>{@link PermitsMismatchException} if this is a semaphore that the store has another number
 *       of permits for.
 * </ul>
 *
 * <p>Memory: among threads of one client, actions before {@link Lease#close()} happen-before
 * actions after the next successful acquire of the same name. Between clients there is no such
 * edge, nor among the leases of a semaphore: send {@link Lease#token()} with every write, or use
 * the store's guard.
 *
 * <p>Threads: safe for use by any number of threads, virtual threads included.
 */
public interface DistributedLock {

  /**
   * Returns the name, exactly as it was passed to the client; of a lock of several names
   * ({@link LockClient#all(java.util.Collection)}), all of them, for humans.
   */
  @CheckReturnValue
  String name();

  /** Returns the options of the leases that are acquired through this view. */
  @CheckReturnValue
  LockOptions options();

  /**
   * Returns a view of the same lock with other options. This view is unchanged.
   *
   * @throws IllegalArgumentException the options' TTL is too short for the client's store timeout
   */
  @CheckReturnValue
  DistributedLock with(LockOptions options);

  /**
   * Tries once to acquire the lock, without waiting for it to become free. While a thread of this
   * client holds the lock, or waits for it at the store, the answer is "taken" without a round
   * trip.
   *
   * <p>While another thread of this client is asking the store for the lock, or releasing it, this
   * call waits for that thread's answer, for at most about one store timeout. If that thread gets
   * the lock, or finds it taken, this call finds it taken. If that thread gets a
   * {@link LockStoreException}, so does this call. If it ends without an answer (it was
   * interrupted, or released the lock), this call asks the store itself.
   *
   * <p>Not interruptible: an interrupt stays pending. On a virtual thread an interrupt during the
   * request may break the store's connection, and then the call ends with a
   * {@link LockStoreException}.
   *
   * <p>{@code tryLock().ifPresent(...)} leaks the lease; {@link #tryRun(LeaseAction)} is what you
   * want then.
   *
   * @return the lease, or empty if the lock is taken
   */
  @CheckReturnValue
  Optional<Lease> tryLock();

  /**
   * Tries to acquire the lock, waiting at most {@code maxWait} for it to become free; zero or less
   * tries once. Returns within {@code maxWait} plus about one store timeout, since the store's last
   * answer may take that long; or plus two, if this call waited for the answer that another thread
   * of this client was to get, and that thread ended without one, so that this call has to ask
   * itself. An interrupt wins over a lease that is granted at the same moment: that lease is given
   * back.
   *
   * @return the lease, or empty if the lock stayed taken
   * @throws InterruptedException interrupted before or while waiting; nothing is held
   */
  @CheckReturnValue
  Optional<Lease> tryLock(Duration maxWait) throws InterruptedException;

  /**
   * Acquires the lock as {@link #tryLock(Duration)} does, within the same bounds, but throws an
   * exception if the lock stayed taken.
   *
   * @throws LockTimeoutException the lock stayed taken; the message names the holder if it is known
   * @throws InterruptedException interrupted before or while waiting; nothing is held
   */
  @CheckReturnValue
  Lease lockWithin(Duration maxWait) throws InterruptedException;

  /**
   * Acquires the lock, waiting without limit. A lease that is lost before this method can return it
   * is not returned: the wait goes on.
   *
   * @throws InterruptedException interrupted before or while waiting; nothing is held
   */
  @CheckReturnValue
  Lease lock() throws InterruptedException;

  /**
   * Acquires the lock, waiting without limit, runs the action, and releases the lock.
   *
   * <p>The action's checked exception passes through unchanged. If an action throws two unrelated
   * checked exceptions, the compiler infers {@code Exception} for {@code X}: catch one of them
   * inside the action.
   *
   * @throws LockLostException the lease was lost before the action ended: another holder may have
   *     been at work at the same time
   * @throws InterruptedException interrupted before or while waiting; the action did not run
   * @throws X what the action threw
   */
  <X extends Exception> void run(LeaseAction<X> action) throws X, InterruptedException;

  /**
   * Runs the action as {@link #run(LeaseAction)} does, and returns its result.
   *
   * @throws LockLostException the lease was lost before the action ended; its result is dropped
   * @throws InterruptedException interrupted before or while waiting; the action did not run
   * @throws X what the action threw
   */
  <T, X extends Exception> T call(LeaseFunction<T, X> action) throws X, InterruptedException;

  /**
   * Runs the action under the lock if it is free now, as {@link #tryLock()} finds it, and releases
   * the lock.
   *
   * @return true if the action ran; false if the lock was taken
   * @throws LockLostException the lease was lost before the action ended
   * @throws X what the action threw
   */
  <X extends Exception> boolean tryRun(LeaseAction<X> action) throws X;

  /**
   * Runs the action under the lock if it becomes free within {@code maxWait}, and releases the
   * lock; zero or less tries once.
   *
   * @return true if the action ran; false if the lock stayed taken
   * @throws LockLostException the lease was lost before the action ended
   * @throws InterruptedException interrupted before or while waiting; the action did not run
   * @throws X what the action threw
   */
  <X extends Exception> boolean tryRun(Duration maxWait, LeaseAction<X> action)
      throws X, InterruptedException;

  /**
   * Runs the action as {@link #tryRun(LeaseAction)} does, and returns its result, which must not be
   * null.
   *
   * @return the action's result, or empty if the lock was taken and nothing ran
   * @throws NullPointerException the action returned null; its work is done and was exclusive, and
   *     the lock has been released. Use {@code tryRun} for work without a result
   * @throws X what the action threw
   */
  <T, X extends Exception> Optional<T> tryCall(LeaseFunction<T, X> action) throws X;

  /**
   * Runs the action as {@link #tryRun(Duration, LeaseAction)} does, and returns its result, which
   * must not be null.
   *
   * @return the action's result, or empty if the lock stayed taken and nothing ran
   * @throws NullPointerException the action returned null; its work is done and was exclusive, and
   *     the lock has been released. Use {@code tryRun} for work without a result
   * @throws InterruptedException interrupted before or while waiting; the action did not run
   * @throws X what the action threw
   */
  <T, X extends Exception> Optional<T> tryCall(Duration maxWait, LeaseFunction<T, X> action)
      throws X, InterruptedException;

  /**
   * Whether the calling thread owns a lease of this lock, through this client, that is open and
   * valid. No I/O.
   */
  @CheckReturnValue
  boolean isHeldByCurrentThread();

  /**
   * Asks the store for the lock's holder, whichever client it belongs to. Of a lock of several
   * names: for the holder of the first of them that is taken. Of a semaphore: for the holder of the
   * lowest permit that is taken.
   *
   * @return the holder, or empty if the lock was free at that moment
   * @throws LockStoreException the store gave no usable answer
   * @throws LockClientClosedException the client was closed
   */
  @CheckReturnValue
  Optional<LockHolder> inspect();

  /**
   * Asks the store for all holders of the lock, whichever clients they belong to: of a semaphore,
   * the holder of each permit that is taken, in the order of the permits; of a lock of several
   * names, the holder of each name that is taken; of any other lock, the one that
   * {@link #inspect()} returns.
   *
   * @return the holders; empty if the lock was free at that moment
   * @throws LockStoreException the store gave no usable answer
   * @throws LockClientClosedException the client was closed
   */
  @CheckReturnValue
  List<LockHolder> holders();

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
   * @throws IllegalStateException this is a lock of several names, and a token is of one
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
