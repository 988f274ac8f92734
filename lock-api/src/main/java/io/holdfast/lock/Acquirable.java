package io.holdfast.lock;

import java.time.Duration;
import java.util.Optional;

/**
 * The ways to acquire, the same for {@link DistributedLock}, {@link JointLock} and
 * {@link DistributedSemaphore}.
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
 *       and the name may stay taken for up to one TTL. A failure is never reported as "taken": that
 *       is the answer only if the store, or a holder in this client, says so.
 *   <li>{@link LockClientClosedException} if the client was closed before or during the call;
 *       nothing is held.
 * </ul>
 *
 * <p>Threads: safe for use by any number of threads, virtual threads included.
 *
 * @param <L> what its holder gets
 */
public interface Acquirable<L extends AnyLease> {

  /** Returns the options of the leases that are acquired through this view. */
  @CheckReturnValue
  LockOptions options();

  /**
   * Returns a view of the same lock with other options. This view is unchanged.
   *
   * @throws IllegalArgumentException the options' TTL is too short for the client's store timeout
   */
  @CheckReturnValue
  Acquirable<L> with(LockOptions options);

  /**
   * Tries once to acquire the lock, without waiting for it to become free.
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
  Optional<L> tryLock();

  /**
   * Tries to acquire the lock, waiting at most {@code maxWait} for it to become free; zero or less
   * tries once. Returns within {@code maxWait} plus about one store timeout for each name, since
   * the store's last answer may take that long; or plus two, if this call waited for the answer
   * that another thread of this client was to get, and that thread ended without one, so that this
   * call has to ask itself. An interrupt wins over a lease that is granted at the same moment: that
   * lease is given back.
   *
   * @return the lease, or empty if the lock stayed taken
   * @throws InterruptedException interrupted before or while waiting; nothing is held
   */
  @CheckReturnValue
  Optional<L> tryLock(Duration maxWait) throws InterruptedException;

  /**
   * Acquires the lock as {@link #tryLock(Duration)} does, within the same bounds, but throws an
   * exception if the lock stayed taken.
   *
   * @throws LockTimeoutException the lock stayed taken; the message names the holder if it is known
   * @throws InterruptedException interrupted before or while waiting; nothing is held
   */
  @CheckReturnValue
  L lockWithin(Duration maxWait) throws InterruptedException;

  /**
   * Acquires the lock, waiting without limit. A lease that is lost before this method can return it
   * is not returned: the wait goes on.
   *
   * @throws InterruptedException interrupted before or while waiting; nothing is held
   */
  @CheckReturnValue
  L lock() throws InterruptedException;

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
  <X extends Exception> void run(LeaseAction<? super L, X> action) throws X, InterruptedException;

  /**
   * Runs the action as {@link #run(LeaseAction)} does, and returns its result.
   *
   * @throws LockLostException the lease was lost before the action ended; its result is dropped
   * @throws InterruptedException interrupted before or while waiting; the action did not run
   * @throws X what the action threw
   */
  <T, X extends Exception> T call(LeaseFunction<? super L, T, X> action)
      throws X, InterruptedException;

  /**
   * Runs the action under the lock if it is free now, as {@link #tryLock()} finds it, and releases
   * the lock.
   *
   * @return true if the action ran; false if the lock was taken
   * @throws LockLostException the lease was lost before the action ended
   * @throws X what the action threw
   */
  <X extends Exception> boolean tryRun(LeaseAction<? super L, X> action) throws X;

  /**
   * Runs the action under the lock if it becomes free within {@code maxWait}, and releases the
   * lock; zero or less tries once.
   *
   * @return true if the action ran; false if the lock stayed taken
   * @throws LockLostException the lease was lost before the action ended
   * @throws InterruptedException interrupted before or while waiting; the action did not run
   * @throws X what the action threw
   */
  <X extends Exception> boolean tryRun(Duration maxWait, LeaseAction<? super L, X> action)
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
  <T, X extends Exception> Optional<T> tryCall(LeaseFunction<? super L, T, X> action) throws X;

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
  <T, X extends Exception> Optional<T> tryCall(
      Duration maxWait, LeaseFunction<? super L, T, X> action) throws X, InterruptedException;
}
