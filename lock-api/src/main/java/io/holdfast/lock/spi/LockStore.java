package io.holdfast.lock.spi;

import io.holdfast.lock.LockOptions;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The protocol of one store. Called only by the engine, never by users.
 *
 * <p>Calls block and run on the calling thread, so that an uncontended acquire needs no switch
 * between threads. Every call must end within the {@linkplain StoreSettings#storeTimeout() store
 * timeout}, whether the store answers or not; that includes waits for sockets, connection pools and
 * the store's own locks. An interrupt must not make a call give up silently: the call finishes or
 * throws {@link StoreException}, and leaves the interrupt flag set. The engine holds no mutex
 * during a call. Whatever a call throws, the engine takes to mean that there is no usable answer.
 *
 * <p>Threads: must be safe for use by any number of threads. The acquiring calls are
 * {@link #tryAcquire}, {@link #acquireOrQueue} and {@link Ticket#poll()}. The engine makes at most
 * one of them per key at a time (of a {@link LockKind#PERMIT}: per claim), but may release, renew,
 * verify and withdraw from other threads meanwhile.
 *
 * <p><b>Kinds.</b> Every store has {@link LockKind#MUTEX}. It gets claims of another kind only if
 * {@link #checkKind} lets that kind pass. A {@link LockKind#PERMIT} differs from a mutex in this:
 *
 * <ul>
 *   <li>A key has N permits, numbered from 0 to N - 1; each claim says N ({@link Claim#permits()}).
 *       At most N grants of the key stand at any time, each with a {@linkplain Grant#permit()
 *       permit} that no other has. A permit that only a minimum hold keeps taken counts as granted.
 *       "Taken" means that all permits are, or that others stand in line before.
 *   <li>One client can have several claims to a key in line, and several grants of it, at the same
 *       time. As with a mutex, they are told apart by owner id alone.
 *   <li>N is kept at the store for as long as a permit is held or somebody alive is in line. A
 *       claim with another N then gets {@link StoreException#permitsDiffer}, from whatever
 *       acquiring call, and changes nothing. Once nothing is held and nobody waits, the next claim
 *       sets N. So after a crash of all holders an old N stays for the crash bound at most.
 *   <li>Where the store has a line, it gives permits in the order of the line, and to nobody else.
 *       When several permits become free at once, as many waiters must be woken: for example, each
 *       waiter that takes a permit wakes the next one while another permit is free.
 *   <li>{@link #holders} shows all that hold a permit; {@link #forceRelease} frees the one permit
 *       whose grant has that number. {@link #inspect} and {@link #list} are not called for it.
 *   <li>A guarded write under such a grant checks that this very grant stands; a guard that can't
 *       check it refuses it with an {@link IllegalArgumentException}.
 * </ul>
 *
 * <p>A {@link LockKind#READ} is a read lock, whose write lock is the mutex of the same name: a READ
 * key and a MUTEX key with the same name mean the same lock, with one line and one sequence of
 * numbers. A <em>reader</em> is a READ claim, a <em>writer</em> a MUTEX claim. A store that lets
 * READ pass in {@link #checkKind} does this:
 *
 * <ul>
 *   <li>At any time either one writer's grant of a name stands, or any number of readers' grants,
 *       never both. One that only a minimum hold keeps taken counts: a reader's keeps writers out,
 *       and lets readers in.
 *   <li>Where the store has a line, each name has one, for readers and writers together, first come
 *       first served:
 *       <ul>
 *         <li>A reader is granted the lock at once only if no writer holds the name and nobody
 *             alive stands in line; else it is "taken", or the reader joins the line.
 *         <li>A reader in line is granted the lock once no writer holds the name and none stands
 *             before it. So readers that follow each other at the head enter together: all of them
 *             must be woken, or handed the lock.
 *         <li>A writer is granted the lock when it is first in line and nobody holds the name. No
 *             reader that comes after it passes it.
 *         <li>A claim in line that gives up or dies keeps nobody out any more.
 *       </ul>
 *   <li>The {@linkplain Grant#number() number} of every grant is above those of all earlier grants
 *       of the name, of whichever kind, and no two have the same.
 *   <li>Each reader's grant has an end of its own. A reader that crashed keeps writers out for its
 *       own crash bound at most, however often other readers are granted or renewed. As with a
 *       mutex, grants are released, renewed, extended, verified and withdrawn by owner id: released
 *       twice or late, a grant frees nothing of another's.
 *   <li>The engine's one acquiring call per READ key may run at the same time as one for the MUTEX
 *       key of the name. One client can have several READ grants of a name at once, and a place in
 *       line as a writer beside them: to the store they are claims of different owners.
 *   <li>{@link #inspect}, {@link #holders} and {@link #forceRelease} are about the name, whichever
 *       of its two kinds the key has. {@code holders} shows the one writer, or all readers in the
 *       order of their numbers; {@code inspect} the first of them; {@code forceRelease} ends the
 *       grant with that number. {@link #list} of MUTEX also shows names that only readers hold,
 *       each once, with the holder that {@code inspect} shows; it is not called for READ.
 *   <li>A guarded write under a READ grant checks that this very grant stands; a guard that can't
 *       check it refuses it with an {@link IllegalArgumentException}, before any I/O.
 *   <li>On a name that has no reader, a mutex costs what it costs without read locks. A read lock
 *       that nobody contends is one request to acquire, and one to release.
 * </ul>
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
   * Checks that this store has locks of this kind. Called when a {@code DistributedLock} of a kind
   * other than {@link LockKind#MUTEX} is made, before any request. No I/O. Without an
   * implementation, a store has the mutex alone; one that passes calls on to another store must
   * pass this on, too.
   *
   * @throws UnsupportedOperationException the store has none; the message says so, why if that is
   *     for good, and the remedy
   */
  default void checkKind(LockKind kind) {
    if (kind != LockKind.MUTEX) {
      throw new UnsupportedOperationException("This store ("
          + getClass().getSimpleName()
          + ") has no locks of the kind "
          + kind
          + ", only the lock with one holder at a time, get(name). Use a store that has them: the"
          + " table of stores in the documentation says which do");
    }
  }

  /**
   * Tries once to acquire the lock, without joining the store's queue.
   *
   * @return the grant, or empty if the lock is taken
   * @throws StoreException no usable answer; the engine withdraws the claim if the request may have
   *     been carried out
   */
  Optional<Grant> tryAcquire(Claim claim) throws StoreException;

  /**
   * Tries to acquire the lock, and joins the store's queue if the lock is taken; in one round trip
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
   *     once; never negative
   * @throws StoreException no usable answer; the lock may have been released
   */
  ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException;

  /**
   * Makes sure that this claim has nothing at the store, neither a grant nor a place in the queue,
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
   * Extends a grant to at least {@code ttl} from now if it still has the lock: a fixed lease that
   * its holder extends, or one that was handed over and on which a guard is opened before its first
   * renewal. Comparing and extending must be one atomic step; a grant that is gone is never
   * re-created, and none is shortened.
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
   * Asks for the holder of a lock; of a name that is locked for reading, the reader with the lowest
   * number.
   *
   * @return the holder, or empty if the lock is free
   * @throws StoreException no usable answer
   */
  Optional<StoredHolder> inspect(LockKey key) throws StoreException;

  /**
   * Asks for all holders of a lock, those that only a minimum hold keeps included.
   *
   * @return of a {@link LockKind#PERMIT} the holder of each permit that is held, in the order of
   *     the permits; of another kind the holder, or all readers in the order of their numbers;
   *     empty if the lock is free
   * @throws StoreException no usable answer
   */
  default List<StoredHolder> holders(LockKey key) throws StoreException {
    return inspect(key).stream().toList();
  }

  /**
   * Lists locks that are held, including those that only a minimum hold keeps taken, or (of a
   * {@link LockKind#MUTEX}) that only readers hold; for administration. Not a snapshot, since locks
   * come and go during the search, and slow if there are many names.
   *
   * @param kind the kind to list
   * @param namePrefix the beginning of the names to list, compared character by character; empty:
   *     all
   * @param limit the most to return, 1 to 10,000
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
