package io.holdfast.lock;

import java.util.Collection;
import java.util.List;

/**
 * A process's access to the locks of a store. Build one with the store's builder, share it among
 * all threads, and close it last.
 *
 * <p>Two clients never share a lease, not even in the same JVM: each treats the other as if it were
 * on another machine.
 *
 * <p>Threads: safe for use by any number of threads. {@link #get(String)} returns at once.
 * {@link #list} asks the store. {@link #close()} blocks for at most about two store timeouts, or
 * three if another thread is already closing the client.
 */
public interface LockClient extends AutoCloseable {

  /** Returns the options of the locks that are got without options. No I/O. */
  @CheckReturnValue
  LockOptions defaultOptions();

  /**
   * Returns the lock of this name, with the client's default options. No I/O; the result need not
   * be closed.
   *
   * <p>A name is any well-formed Unicode string of 1 to 200 code points without control characters.
   * Names that differ in any way (case, trailing space, normalisation form) are different locks on
   * every store.
   *
   * @throws IllegalArgumentException the name breaks one of these rules; the message says which
   */
  @CheckReturnValue
  DistributedLock get(String name);

  /**
   * Returns the lock of this name with other options; the same as {@code get(name).with(options)}.
   *
   * @throws IllegalArgumentException the name is not allowed, or the options' TTL is too short for
   *     this client's store timeout; the message names the value and the remedy
   */
  @CheckReturnValue
  DistributedLock get(String name, LockOptions options);

  /**
   * Returns one lock of several names, with the client's default options. No I/O; the result need
   * not be closed. A holder of it has the lock of each of these names, and a holder of the lock of
   * one of them keeps it taken.
   *
   * <p><b>Acquiring</b> is all or nothing, one name after the other (a request each), in an order
   * that is the same for all clients, whatever order the names are passed in. So no two calls wait
   * for each other for ever, as long as no thread calls this while it holds another lock that the
   * others need. A wait limit is for all names together; the last answers can take a store timeout
   * for each name that is left. A call that gets no lease gives back what it had, in reverse order.
   * While it waits for a name, it holds those before it: {@link LockOptions#maxHold()} and a fixed
   * TTL run for each name from its own grant. One that is lost meanwhile is asked for again.
   *
   * <p><b>The lease</b> is held while the leases of all names are. It is lost with the first of
   * them, and its listeners are told once, with that name; the others stay taken until
   * {@code close()}, which frees them and then throws. {@code close()} frees the last name first.
   * {@link Lease#remaining()} is the least of all names, and {@link Lease#verify()} and
   * {@link Lease#extend} are for each of them. Each name has a token of its own:
   * {@link Lease#token(String)}. A guard refuses such a lease with an
   * {@link IllegalArgumentException}, before any I/O: it would check one name only.
   *
   * <p><b>Re-entry</b> is by name. A thread that has the lock of one name can acquire that of
   * several that include it, and the other way round. A thread that would wait for one of the names
   * while it has the lock of one that comes later in the order gets an
   * {@link IllegalStateException}, before any I/O.
   *
   * <p>{@link DistributedLock#inspect()} shows the holder of the first of the names that is taken,
   * and {@link LockHolder#name()} is that name. {@link DistributedLock#forceRelease} is an
   * {@link IllegalStateException}: a token is of one name. A client's {@link LockListener}s are
   * told about each name on its own. A {@link LockTimeoutException}, a {@link LockLostException}
   * and a {@link LeaseLoss} name one of them.
   *
   * @param names 1 to 100 of them; one that is there twice counts once. With one name, this is the
   *     same as {@link #get(String)}
   * @throws IllegalArgumentException there is no name, or too many, or one that is not allowed
   */
  @CheckReturnValue
  DistributedLock all(Collection<String> names);

  /**
   * Returns one lock of several names with other options; the same as
   * {@code all(names).with(options)}.
   *
   * @throws IllegalArgumentException there is no name, or too many, or one that is not allowed, or
   *     the options' TTL is too short for this client's store timeout
   */
  @CheckReturnValue
  DistributedLock all(Collection<String> names, LockOptions options);

  /**
   * Returns a semaphore: a lock of which at most {@code permits} leases stand at any time, in all
   * JVMs together. With the client's default options. No I/O; the result need not be closed. It has
   * nothing to do with {@link #get(String)} of the same name, which is another lock, even if it has
   * one permit.
   *
   * <p><b>The lease</b> is a lease like any other: renewed or fixed, lost or closed. It says which
   * permit it has ({@link Lease#permit()}), and a permit's tokens rise: so what a permit stands for
   * (a connection, a printer, a shard) can be fenced, by token and permit. A crash gives a permit
   * back within the lease's {@link Lease#crashBound()}.
   *
   * <p><b>Acquiring</b> takes one permit, each time: a semaphore is not reentrant, with neither
   * {@link Ownership}. A thread that has a permit and asks for another gets another, or waits; if
   * all permits are its own, it waits until another thread closes one of their leases. A lost lease
   * does not keep its thread from acquiring again. With {@link Ownership#THREAD} the thread owns
   * each of its leases: {@link DistributedLock#isHeldByCurrentThread()} is true while one of them
   * is held, and {@code asLock().unlock()} ends its latest.
   *
   * <p>Every call asks the store, also one that does not wait: leases of one client are not shared
   * or handed on among its threads. A call that waits stands in the store's line with a place of
   * its own, so the order of arrival, also within a client, is the store's; its page says what it
   * promises.
   *
   * <p><b>The number of permits</b> is kept at the store while a permit is held or somebody waits.
   * An acquire with another number then is a {@link PermitsMismatchException}, which names both,
   * before anything is taken; once nothing is held and nobody waits, the next acquire's number
   * holds. So to change it, let all clients with the old number close their leases; of one that
   * crashed, the number stays for its crash bound at most.
   *
   * <p>{@link DistributedLock#holders()} shows who has which permit, {@code inspect()} the holder
   * of the lowest one that is taken, and {@code forceRelease(token)} frees one permit.
   * {@link #list} does not list semaphores.
   *
   * @param permits 1 to 1,000
   * @throws IllegalArgumentException the name is not allowed, or the number is out of range
   * @throws UnsupportedOperationException the store has no semaphores; the message says why
   */
  @CheckReturnValue
  DistributedLock semaphore(String name, int permits);

  /**
   * Returns a semaphore with other options; the same as {@code semaphore(name,
   * permits).with(options)}.
   *
   * @throws IllegalArgumentException the name is not allowed, or the number is out of range, or the
   *     options' TTL is too short for this client's store timeout
   * @throws UnsupportedOperationException the store has no semaphores; the message says why
   */
  @CheckReturnValue
  DistributedLock semaphore(String name, int permits, LockOptions options);

  /**
   * Asks the store which locks are held, by any client; for administrators. The result is not a
   * snapshot, since locks come and go during the search, and the search is slow if there are very
   * many names.
   *
   * @param namePrefix the beginning of the names to list, compared character by character; empty:
   *     all names
   * @param limit the most locks to return, 1 to 10,000
   * @return the locks, sorted by name; if there are more than {@code limit}, it is not specified
   *     which of them
   * @throws IllegalArgumentException the prefix has more than 200 code points or a character that
   *     no name has, or the limit is out of range
   * @throws LockStoreException the store gave no usable answer
   * @throws LockClientClosedException the client was closed
   */
  @CheckReturnValue
  List<HeldLock> list(String namePrefix, int limit);

  /**
   * Closes this client. Every open lease becomes {@link LeaseState#LOST} (with reason
   * {@link LeaseLoss.Reason#CLIENT_CLOSED}) before its lock is freed. Every waiting thread gets a
   * {@link LockClientClosedException}, and the client's threads stop. A lock that could not be
   * freed in time, or whose acquire had no answer yet, stays taken until its TTL is over; a log
   * line names it.
   *
   * <p>Idempotent. A second call, even at the same time, returns when the first one is done, or
   * after three store timeouts. A step that failed in the first call for lack of memory or stack is
   * repeated by the next call.
   *
   * <p>The data source or driver object that the client was built on stays open; closing it is up
   * to you.
   */
  @Override
  void close();
}
