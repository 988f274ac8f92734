package io.holdfast.lock.spi;

import io.holdfast.lock.LockOptions;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The protocol of one store. The engine calls it; users never do.
 *
 * <p>Calls block and run on the calling thread, so that an uncontended acquire has no thread hop.
 * Every call ends within the {@linkplain StoreSettings#storeTimeout() store timeout}, whether the
 * store answers or not: socket, connection pool and lock waits included. No call reacts to an
 * interrupt by giving up quietly: it finishes, or throws {@link StoreException}, and leaves the
 * flag set. The engine holds no lock of its own during a call.
 *
 * <p>Threads: safe for all. The engine asks for one key from one thread at a time, but releases,
 * renews, verifies and withdraws from others.
 */
public interface LockStore extends AutoCloseable {

  /**
   * Checks that this store can do what the options ask for. Called when a lock is made, before any
   * request. No I/O.
   *
   * @throws IllegalArgumentException the store can't; the message names the value and the remedy
   */
  void checkOptions(LockOptions options);

  /**
   * Makes one attempt, without joining a line.
   *
   * @return the grant, or empty if the lock is taken
   * @throws StoreException no usable answer; the engine withdraws the claim if it may have happened
   */
  Optional<Grant> tryAcquire(Claim claim) throws StoreException;

  /**
   * Makes one attempt, and joins the line if the lock is taken: in the same round trip where the
   * store has a line.
   *
   * @param wakeUp to be run, from any thread and as often as wanted, when a {@link Ticket#poll()}
   *     might find something new (free, failed, gone); cheap, never blocks
   * @throws StoreException no usable answer; the engine withdraws the claim if it may have happened
   */
  Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException;

  /**
   * Frees the lock if the grant still has it; never touches another owner. May be sent again after
   * a failure.
   *
   * @param holdFor the time for which the name must stay taken, counted from now; zero: free at
   *     once
   * @throws StoreException no usable answer; it may have been released
   */
  ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException;

  /**
   * Makes sure that this claim has nothing at the store, neither a grant nor a place in line, and
   * gets nothing later as far as the store can tell. Called for attempts whose outcome is unknown,
   * several times, since a request can arrive late.
   *
   * <p>It may come before, after or during a {@link Ticket#close()} of the same claim; each does
   * what is left of the other's work, and nothing if nothing is left. It never touches another
   * claim.
   *
   * @throws StoreException no usable answer; the engine tries again
   */
  void withdraw(Claim claim) throws StoreException;

  /**
   * Grants with equal groups are renewed in one call; groups are renewed independently, so that a
   * slow or dead part of the store delays no other.
   */
  Object renewalGroup(Grant grant);

  /**
   * Extends each grant to its claim's TTL from now, if it still has the lock: compare and extend,
   * never re-create. The list is of one group and not empty; the store splits it as it needs.
   *
   * @return one result for each grant, in the order of the list
   * @throws StoreException no usable answer about any of them
   */
  List<Renewal> renew(List<Grant> grants) throws StoreException;

  /**
   * Keeps a grant of a fixed lease for at least {@code ttl} from now, if it still has the lock:
   * compare and extend, never re-create, and never shorten.
   *
   * @param ttl whole microseconds, longer than the store timeout
   * @return the time for which the grant is good, counted from the moment of the call; empty if it
   *     no longer has the lock
   * @throws StoreException no usable answer; it may have been extended
   */
  Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException;

  /**
   * Asks whether the grant still has the lock, without extending it.
   *
   * @return the time left on the grant, counted from the moment of the call; empty if it no longer
   *     has the lock
   * @throws StoreException no usable answer
   */
  Optional<Duration> verify(Grant grant) throws StoreException;

  /**
   * Asks for the holder of a lock.
   *
   * @return empty: free
   * @throws StoreException no usable answer
   */
  Optional<StoredHolder> inspect(LockKey key) throws StoreException;

  /**
   * Lists locks that are held, also those that only a minimum hold keeps taken. For administration:
   * not a snapshot, since locks come and go while it runs, and slow where there are many names.
   *
   * @param kind the kind to list
   * @param namePrefix the beginning of the names to list, compared character by character; empty:
   *     all
   * @param limit the most to return, at least 1
   * @return in no particular order, none twice
   * @throws StoreException no usable answer
   */
  List<StoredLock> list(LockKind kind, String namePrefix, int limit) throws StoreException;

  /**
   * Frees the lock if the grant with this number has it, minimum hold or not.
   *
   * @return whether it had it
   * @throws StoreException no usable answer; it may have been freed
   */
  boolean forceRelease(LockKey key, long number) throws StoreException;

  /**
   * Frees what the store holds for this client: connections, threads, sessions. Does not close what
   * the user passed in. The engine has released or given up every grant before. Idempotent; logs
   * rather than throws.
   */
  @Override
  void close();
}
