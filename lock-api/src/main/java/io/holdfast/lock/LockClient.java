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
 * <p>Threads: safe for use by any number of threads. {@link #list} asks the store, and blocks for
 * at most about one store timeout. {@link #close()} blocks for at most about two, or three if
 * another thread is already closing the client. An interrupt ends neither, and stays pending. All
 * other methods return at once, without I/O. They work on a closed client too; what needs the store
 * then throws a {@link LockClientClosedException}.
 */
public interface LockClient extends AutoCloseable {

  /**
   * Returns the lock of this name, with the client's default options. The result need not be
   * closed.
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
   * @throws IllegalArgumentException the name is not allowed, the TTL is too short for this
   *     client's store timeout, or the store does not support the options; the message names the
   *     value and the remedy
   */
  @CheckReturnValue
  DistributedLock get(String name, LockOptions options);

  /**
   * Returns one lock of several names, with the client's default options. Its holder has the lock
   * of each of these names. The result need not be closed.
   *
   * <p><b>Acquiring</b> is all or nothing. The names are acquired one after the other, each with a
   * request of its own, in one order for all clients (by {@link String#compareTo}), whatever order
   * they are passed in. So no two calls wait for each other for ever, as long as no thread calls
   * this while it holds another lock that the others need. A wait limit is for all names together;
   * the last answers can take a store timeout for each name that is left. A call that gets no lease
   * gives back what it had, in reverse order. While it waits for a name, it holds those before it:
   * {@link LockOptions#maxHold()} and a fixed TTL run for each name from its own grant. A name that
   * is lost meanwhile is asked for again.
   *
   * <p><b>The lease</b> is held while the leases of all names are. It is lost when the first of
   * them is, and its listeners are told once, with that name. The other names stay taken until
   * {@code close()}, which frees them, the last one first, and then throws.
   * {@link Lease#remaining()} is the least of all names, {@link Lease#crashBound()} the greatest;
   * {@link Lease#verify()} and {@link Lease#extend} are for each of them. Each name has a token of
   * its own: {@link Lease#token(String)}. A guard refuses such a lease with an
   * {@link IllegalArgumentException}, before any I/O: it would check one name only.
   *
   * <p><b>Re-entry</b> is by name. A thread that has the lock of one name can acquire that of
   * several that include it, and the other way round. A thread that would wait for one of the names
   * while it has the lock of one that comes later in the order gets an
   * {@link IllegalStateException}, before any I/O.
   *
   * <p><b>All else is by name.</b> {@link LockListener}s are told about each name on its own.
   * {@link LockHolder#name()}, a {@link LockTimeoutException}, a {@link LockLostException} and a
   * {@link LeaseLoss} say which name they mean. {@link DistributedLock#forceRelease} is an
   * {@link IllegalStateException}, since a token is of one name.
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
   * @throws IllegalArgumentException as for {@link #all(Collection)} and {@link #get(String,
   *     LockOptions)}
   */
  @CheckReturnValue
  DistributedLock all(Collection<String> names, LockOptions options);

  /**
   * Returns a semaphore, with the client's default options: a lock that has at most {@code permits}
   * holders at any time, in all JVMs together. It has nothing to do with {@link #get(String)} of
   * the same name, which is another lock. The result need not be closed.
   *
   * <p><b>The lease</b> is a lease like any other: renewed or fixed, closed or lost. It also has a
   * permit ({@link Lease#permit()}), a number that no other valid lease of this semaphore has; and
   * tokens rise for each permit. So whatever a permit stands for (a connection, a printer, a shard)
   * can be fenced by permit and token. If a holder crashes, its permit is free again within the
   * lease's {@link Lease#crashBound()}.
   *
   * <p><b>Acquiring</b> takes one permit each time: a semaphore is not reentrant, whatever the
   * {@link Ownership}. A thread that has all permits and asks for another waits until one of their
   * leases is closed by another thread. A thread can acquire again although a lease of its own was
   * lost. With {@link Ownership#THREAD} it owns each of its leases:
   * {@link DistributedLock#isHeldByCurrentThread()} is true while one of them is held, and
   * {@code asLock().unlock()} ends the latest.
   *
   * <p><b>Waiting.</b> One thread of a client stands in the store's line for all; the others wait
   * in the client, and have their turns one after the other. A lease may be handed on to one of
   * those, as one of a mutex may ({@link LockClientBuilder#localHandOff}), for 100 ms; it is then
   * the same permit, with a higher token. Between clients the order is the store's, and its page
   * says what it promises. A call that does not wait asks the store.
   *
   * <p><b>The number of permits</b> is kept at the store while a permit is held or somebody waits.
   * An acquire with another number then throws a {@link PermitsMismatchException}, which names
   * both, and takes nothing. Once nothing is held and nobody waits, the next acquire sets the
   * number. So to change it, let all clients with the old number close their leases. A client that
   * crashed keeps its number in force for at most the crash bound of its leases.
   *
   * <p>{@link DistributedLock#holders()} shows who has which permit, and
   * {@code forceRelease(token)} frees one permit. {@link #list} does not list semaphores.
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
   * @throws IllegalArgumentException as for {@link #semaphore(String, int)} and {@link #get(String,
   *     LockOptions)}
   * @throws UnsupportedOperationException the store has no semaphores; the message says why
   */
  @CheckReturnValue
  DistributedLock semaphore(String name, int permits, LockOptions options);

  /**
   * Returns the read-write lock of this name, with the client's default options: many readers, or
   * one writer. Its write lock is {@link #get(String)} of this name. The result need not be closed.
   *
   * @throws IllegalArgumentException the name is not allowed
   * @throws UnsupportedOperationException the store has no read locks; the message says why
   */
  @CheckReturnValue
  DistributedReadWriteLock readWrite(String name);

  /**
   * Returns the read-write lock of this name with other options; the same as
   * {@code readWrite(name).with(options)}.
   *
   * @throws IllegalArgumentException as for {@link #get(String, LockOptions)}
   * @throws UnsupportedOperationException the store has no read locks; the message says why
   */
  @CheckReturnValue
  DistributedReadWriteLock readWrite(String name, LockOptions options);

  /**
   * Asks the store which locks are held, by any client; for administrators. A name that is locked
   * for reading is listed once, with one of its readers. Semaphores are not listed. The result is
   * not a snapshot, since locks come and go during the search, and the search is slow if there are
   * very many names.
   *
   * @param namePrefix the beginning of the names to list, compared character by character; empty:
   *     all names
   * @param limit the most locks to return, 1 to 10,000
   * @return the locks, sorted by name; if there are more than {@code limit}, it is not specified
   *     which of them
   * @throws IllegalArgumentException the prefix has more than 200 code points or a character that
   *     no name has, or the limit is out of range
   * @throws LockStoreException the store gave no usable answer, or did not get through all names
   *     within the store timeout
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
