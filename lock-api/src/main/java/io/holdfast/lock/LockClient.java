package io.holdfast.lock;

import java.util.List;

/**
 * One process's connection to the locks of a store. Made once by a store's builder, shared by all
 * threads, closed last.
 *
 * <p>Two clients never share a lease, not even in one JVM: to each, the other is another machine.
 *
 * <p>Threads: safe for all. {@link #get(String)} returns at once; {@link #close()} blocks, bounded
 * by about two store timeouts, or three where another thread closes the client already.
 */
public interface LockClient extends AutoCloseable {

  /**
   * The lock of this name, with the client's default options. No I/O, and nothing to close.
   *
   * <p>A name is any well-formed Unicode string of 1 to 200 code points without control characters.
   * Names that differ in any way (case, trailing space, normalisation form) are different locks on
   * every store.
   *
   * @throws IllegalArgumentException the name breaks a rule above; the message says which
   */
  @CheckReturnValue
  DistributedLock get(String name);

  /**
   * As {@code get(name).with(options)}.
   *
   * @throws IllegalArgumentException the name is not allowed, or the options' TTL is too short for
   *     this client's store timeout; the message names the value and the remedy
   */
  @CheckReturnValue
  DistributedLock get(String name, LockOptions options);

  /**
   * Asks the store which locks are held, by whomever: for an administrator. Not a snapshot, since
   * locks come and go while the store looks, and slow where there are very many names.
   *
   * @param namePrefix the beginning of the names to list, compared character by character; empty:
   *     all names
   * @param limit the most to return, 1 to 10,000
   * @return sorted by name; if there are more than {@code limit}, it is not specified which
   * @throws IllegalArgumentException the prefix has more than 200 code points or a character that
   *     no name has, or the limit is out of range
   * @throws LockStoreException the store gave no usable answer
   * @throws LockClientClosedException the client was closed
   */
  @CheckReturnValue
  List<HeldLock> list(String namePrefix, int limit);

  /**
   * Ends this client: every open lease becomes {@link LeaseState#LOST} (reason
   * {@link LeaseLoss.Reason#CLIENT_CLOSED}) before the store lets others in, every waiting thread
   * gets a {@link LockClientClosedException}, and our threads stop. What the store could not be
   * told in time, be it about a lease or about an acquire that it had not answered, ends by its
   * TTL, and a log line names it.
   *
   * <p>Idempotent. A second call, be it at the same time, returns when the first is done, or after
   * three store timeouts. What a first call could not do, for want of memory or stack, a later call
   * does.
   *
   * <p>The data source or driver object that the client was built on stays open: it is yours.
   */
  @Override
  void close();
}
