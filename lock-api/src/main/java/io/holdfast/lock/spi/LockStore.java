package io.holdfast.lock.spi;

import io.holdfast.lock.LockOptions;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The protocol of one store. Called only by the engine, never by users. A store that has semaphores
 * is a {@link PermitStore}; to any other, every key and claim is of {@link LockKind#MUTEX}.
 *
 * <p>Calls block and run on the calling thread, so that an uncontended acquire needs no switch
 * between threads. Every call must end within the {@linkplain StoreSettings#storeTimeout() store
 * timeout}, whether the store answers or not; waits for sockets, connection pools and the store's
 * own locks included. (An acquire that stores a name for the first time, and needs a further
 * request for it, may take two.) An interrupt must not make a call give up silently: the call
 * finishes or throws {@link StoreException}, and leaves the interrupt flag set. The engine holds no
 * mutex during a call.
 *
 * <p>Threads: must be safe for use by any number of threads. The engine makes at most one acquiring
 * call per key at a time, but may release, renew, verify and withdraw from other threads meanwhile.
 */
public interface LockStore extends AutoCloseable {

  /**
   * Checks that this store supports the options. Called when a {@code DistributedLock} is made,
   * before any request. No I/O.
   *
   * @throws IllegalArgumentException the store does not support them; the message names the value
   *     and the remedy
   */
  void checkOptions(LockOptions options);

  /**
   * Tries once to acquire the lock, without joining the store's line.
   *
   * @return the grant, or empty if the lock is taken
   * @throws StoreException no usable answer; the engine withdraws the claim if the request may have
   *     been carried out
   */
  Optional<Grant> tryAcquire(Claim claim) throws StoreException;

  /**
   * Tries to acquire the lock, and joins the store's line if the lock is taken; in one round trip
   * if the store can do that.
   *
   * @param wakeUp to be run when {@link Ticket#poll()} might find something new (free, failed,
   *     gone). May be run from any thread and any number of times; cheap, never blocks
   * @throws StoreException no usable answer; the engine withdraws the claim if the request may have
   *     been carried out
   */
  Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException;

  /**
   * Releases the lock if the grant still has it; never affects another owner. May be called again
   * after a failure.
   *
   * @param holdFor the time for which the name must stay taken, counted from now; zero: free at
   *     once
   * @throws StoreException no usable answer; the lock may have been released
   */
  ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException;

  /**
   * Makes sure that this claim has nothing at the store, neither a grant nor a place in the line,
   * and that it gets nothing later, as far as the store can prevent it. Called for attempts whose
   * outcome is unknown, and more than once, since a request can arrive late.
   *
   * <p>May be called before, after or during a {@link Ticket#close()} of the same claim; each of
   * the two does only what the other has left to do. Never affects another claim.
   *
   * @throws StoreException no usable answer; the engine tries again
   */
  void withdraw(Claim claim) throws StoreException;

  /**
   * Returns the renewal group of a grant. Grants with equal groups are renewed in one call; each
   * group is renewed on its own, so that a slow or dead part of the store does not delay the
   * others.
   */
  Object renewalGroup(Grant grant);

  /**
   * Extends each grant to its claim's TTL from now if it still has the lock. Comparing and
   * extending must be one atomic step, and a grant that is gone is never re-created. The list is
   * not empty and all of one group; the store may split it.
   *
   * @return one result for each grant, in the order of the list
   * @throws StoreException no usable answer about any of them
   */
  List<Renewal> renew(List<Grant> grants) throws StoreException;

  /**
   * Extends a grant to at least {@code ttl} from now if it still has the lock: that of a fixed
   * lease, or one that was {@linkplain Ticket#handedOver handed over} and not renewed since.
   * Comparing and extending must be one atomic step; a grant that is gone is never re-created, and
   * none is shortened.
   *
   * @param ttl whole microseconds, longer than the store timeout
   * @return the time for which the grant is valid, counted from this call; empty if it no longer
   *     has the lock
   * @throws StoreException no usable answer; the grant may have been extended
   */
  Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException;

  /**
   * Asks whether the grant still has the lock, without extending it.
   *
   * @return the time left on the grant, counted from this call; empty if it no longer has the lock
   * @throws StoreException no usable answer
   */
  Optional<Duration> verify(Grant grant) throws StoreException;

  /**
   * Asks which grants still have their locks, as {@link #verify} does, in few requests. The engine
   * asks so in the background: about fixed leases that are in doubt, or that the store lets be
   * trusted for less than their TTL at a time. The list is not empty and all of one group.
   *
   * <p>Without an implementation, a store is asked about one grant after the other; one that passes
   * calls on to another store must pass this on, too.
   *
   * @return one answer for each of the first grants of the list, in its order; at least one. The
   *     engine asks again about the others
   * @throws StoreException no usable answer about any of them
   */
  default List<Optional<Duration>> verifyAll(List<Grant> grants) throws StoreException {
    return List.of(verify(grants.get(0)));
  }

  /**
   * Asks for the holder of a lock.
   *
   * @return the holder, or empty if the lock is free
   * @throws StoreException no usable answer
   */
  Optional<StoredHolder> inspect(LockKey key) throws StoreException;

  /**
   * Lists locks that are held, including those that only a minimum hold keeps taken; for
   * administration. Not a snapshot, since locks come and go during the search, and slow if there
   * are many names.
   *
   * @param kind the kind to list
   * @param namePrefix the beginning of the names to list, compared character by character; empty:
   *     all
   * @param limit the most to return, at least 1
   * @return the locks, in no particular order, none of them twice
   * @throws StoreException no usable answer
   */
  List<StoredLock> list(LockKind kind, String namePrefix, int limit) throws StoreException;

  /**
   * Frees the lock if the grant with this number has it, even if a minimum hold is not over.
   *
   * @return whether that grant had the lock
   * @throws StoreException no usable answer; the lock may have been freed
   */
  boolean forceRelease(LockKey key, long number) throws StoreException;

  /**
   * Frees the resources of this client: connections, threads, sessions. Does not close what the
   * user passed in. Called after the engine has released or given up every grant. Idempotent; logs
   * failures and does not throw.
   */
  @Override
  void close();
}
