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
   * Returns a view of several locks that are acquired together, with the client's default options.
   * No I/O; the result need not be closed.
   *
   * @param names 1 to 100 of them, in any order; one that is there twice counts once
   * @throws IllegalArgumentException there is no name, or too many, or one that is not allowed
   */
  @CheckReturnValue
  JointLock all(Collection<String> names);

  /**
   * Returns a view of several locks with other options; the same as
   * {@code all(names).with(options)}.
   *
   * @throws IllegalArgumentException there is no name, or too many, or one that is not allowed, or
   *     the options' TTL is too short for this client's store timeout
   */
  @CheckReturnValue
  JointLock all(Collection<String> names, LockOptions options);

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
   * after three store timeouts. A step that failed in the first call for lack of memory is repeated
   * by the next call.
   *
   * <p>The data source or driver object that the client was built on stays open; closing it is up
   * to you.
   */
  @Override
  void close();
}
