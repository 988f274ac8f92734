package io.holdfast.lock;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.Lock;

/**
 * A named lock that at most one holder has at a time, over all JVMs on the same store. A cheap view
 * of a name and options: make one wherever you need it.
 *
 * <p>With {@link Ownership#THREAD} (the default) a thread that holds the lock may take it again;
 * that costs no round trip, and the lock is freed by the last close. With {@link Ownership#LEASE}
 * every acquisition is an owner of its own.
 *
 * <p>Threads of one client that wait for the same name stand in a fair queue, and one of them at a
 * time asks the store. Between clients the order is the store's; its page says what it promises.
 *
 * <p>No acquire returns a lease that does not stand by our clocks at that moment. A grant that was
 * over before it arrived, because the store was slow or the machine slept, is given back and asked
 * for again, or is a {@link LockStoreException} if no time is left for that; the store is asked
 * about one that may be over.
 *
 * <p>Every acquiring method throws, besides what it lists:
 *
 * <ul>
 *   <li>{@link LockStoreException} if the store gave no usable answer: nothing is held, and the
 *       name may stay taken for up to one TTL. Threads that stand behind the failing one in the
 *       queue of the client get it too. "Taken" is told only where the store, or a holder in this
 *       client, says so.
 *   <li>{@link LockLostException} if the calling thread owns a lease of this lock that was lost and
 *       is not closed yet: finish and close that one first.
 *   <li>{@link LockClientClosedException} if the client was closed before or during the call;
 *       nothing is held.
 *   <li>{@link IllegalStateException} if the calling thread owns this lock with other options.
 * </ul>
 *
 * <p>Memory: among threads of one client, actions before {@link Lease#close()} happen-before
 * actions after the next successful acquire of the same name. Between clients there is no such
 * edge: send {@link Lease#token()} with every write, or use the store's guard.
 *
 * <p>Threads: safe for all, virtual threads included; a view has no state.
 */
public interface DistributedLock {

  /** The name, exactly as it was asked for. */
  @CheckReturnValue
  String name();

  /** The options of the leases that are acquired through this view. */
  @CheckReturnValue
  LockOptions options();

  /**
   * The same lock with other options, for one call or for good.
   *
   * @throws IllegalArgumentException the options' TTL is too short for the client's store timeout
   */
  @CheckReturnValue
  DistributedLock with(LockOptions options);

  /**
   * Asks once and does not wait for the lock. While a thread of this client has the lock, or waits
   * for it at the store, the answer is "taken" without a round trip.
   *
   * <p>While a thread of this client asks the store for the lock, or gives it back, this call waits
   * for that one's answer, at most about a store timeout, and has the same: taken, or a
   * {@link LockStoreException}. If that thread leaves without an answer (it was interrupted, or
   * gave the lock back), this call asks by itself.
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
   * Waits up to {@code maxWait}; zero or less asks once. Returns within that time plus about one
   * store timeout, which the last answer of the store may take; plus two if the thread of this
   * client that it waited behind leaves without an answer at the end, so that it has to ask by
   * itself. An interrupt wins over a lease that is granted at the same moment: that lease is given
   * back.
   *
   * @return the lease, or empty if the lock stayed taken
   * @throws InterruptedException interrupted before or while waiting; nothing is held
   */
  @CheckReturnValue
  Optional<Lease> tryLock(Duration maxWait) throws InterruptedException;

  /**
   * As {@link #tryLock(Duration)}, with the same bounds, and with an exception in place of the
   * empty result.
   *
   * @throws LockTimeoutException the lock stayed taken; names the holder if known
   * @throws InterruptedException interrupted before or while waiting; nothing is held
   */
  @CheckReturnValue
  Lease lockWithin(Duration maxWait) throws InterruptedException;

  /**
   * Waits without limit. What it returns stands: a lease that was lost on its way here is not
   * returned, and the wait goes on.
   *
   * @throws InterruptedException interrupted before or while waiting; nothing is held
   */
  @CheckReturnValue
  Lease lock() throws InterruptedException;

  /**
   * Waits without limit, runs the action under the lock, and releases.
   *
   * <p>The one checked exception of an action passes through as it is. If an action throws two that
   * are unrelated, the compiler infers {@code Exception} for {@code X}: catch one of them inside.
   *
   * @throws LockLostException the lease was lost before the action ended: it may not have been
   *     alone
   * @throws InterruptedException interrupted before or while waiting; the action did not run
   * @throws X what the action threw
   */
  <X extends Exception> void run(LeaseAction<X> action) throws X, InterruptedException;

  /**
   * As {@link #run(LeaseAction)}, and returns what the action returned.
   *
   * @throws LockLostException the lease was lost before the action ended; its result is dropped
   * @throws InterruptedException interrupted before or while waiting; the action did not run
   * @throws X what the action threw
   */
  <T, X extends Exception> T call(LeaseFunction<T, X> action) throws X, InterruptedException;

  /**
   * Runs the action if the lock is free now.
   *
   * @return false: the lock was taken, and nothing ran
   * @throws LockLostException the lease was lost before the action ended
   * @throws X what the action threw
   */
  <X extends Exception> boolean tryRun(LeaseAction<X> action) throws X;

  /**
   * Runs the action if the lock becomes free within {@code maxWait}; zero or less asks once.
   *
   * @return false: the lock stayed taken, and nothing ran
   * @throws LockLostException the lease was lost before the action ended
   * @throws InterruptedException interrupted before or while waiting; the action did not run
   * @throws X what the action threw
   */
  <X extends Exception> boolean tryRun(Duration maxWait, LeaseAction<X> action)
      throws X, InterruptedException;

  /**
   * As {@link #tryRun(LeaseAction)}, with a result, which must not be null.
   *
   * @return empty: the lock was taken, and nothing ran
   * @throws NullPointerException the action returned null: its work is done and was exclusive, and
   *     the lock has been released; for work without a result take {@code tryRun}
   * @throws X what the action threw
   */
  <T, X extends Exception> Optional<T> tryCall(LeaseFunction<T, X> action) throws X;

  /**
   * As {@link #tryRun(Duration, LeaseAction)}, with a result, which must not be null.
   *
   * @return empty: the lock stayed taken, and nothing ran
   * @throws NullPointerException the action returned null: its work is done and was exclusive, and
   *     the lock has been released; for work without a result take {@code tryRun}
   * @throws InterruptedException interrupted before or while waiting; the action did not run
   * @throws X what the action threw
   */
  <T, X extends Exception> Optional<T> tryCall(Duration maxWait, LeaseFunction<T, X> action)
      throws X, InterruptedException;

  /**
   * Whether the calling thread owns an open and valid lease of this lock in this client. No I/O.
   */
  @CheckReturnValue
  boolean isHeldByCurrentThread();

  /**
   * Asks the store for the lock's holder, of whatever client.
   *
   * @return empty: it was free at that moment
   * @throws LockStoreException the store gave no usable answer
   */
  @CheckReturnValue
  Optional<LockHolder> inspect();

  /**
   * For an administrator: frees the lock if the grant behind this token still has it. This breaks
   * exclusion, since the holder may still be at work; it learns of the loss at its next renewal.
   *
   * @param expectedToken the one that {@link #inspect()} showed, or any token of the same grant
   * @return whether that grant had the lock and has it no more
   * @throws LockStoreException the store gave no usable answer; it may have been freed
   */
  @CheckReturnValue
  boolean forceRelease(long expectedToken);

  /**
   * This lock for code that takes a {@link Lock}: {@code lock()} does not react to interrupts,
   * {@code unlock()} by a thread that does not own the lock is an
   * {@link IllegalMonitorStateException} and after loss a {@link LockLostException},
   * {@code newCondition()} is unsupported. What a thread holds when it dies is no longer renewed,
   * and ends.
   *
   * @throws IllegalStateException this view has {@link Ownership#LEASE}: a {@code Lock} is owned by
   *     threads
   */
  @CheckReturnValue
  Lock asLock();
}
