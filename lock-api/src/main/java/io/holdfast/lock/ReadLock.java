package io.holdfast.lock;

import java.util.List;
import java.util.concurrent.locks.Lock;

/**
 * The side of a {@link DistributedReadWriteLock} that any number of readers may have at a time, and
 * nobody while a writer has the other side. An instance is a cheap, stateless view.
 *
 * <p>A thread that owns a read, or the write, gets another read at once, without a request and even
 * if a writer waits. Within a write that is a nested handle of it: the lock stays exclusive until
 * the last of both is closed.
 *
 * <p>Memory: what a writer did before it closed its lease is visible to readers of the same JVM
 * that acquire afterwards. There is no happens-before edge among readers.
 *
 * <p>Threads: safe for use by any number of threads, virtual threads included.
 */
public interface ReadLock extends Acquirable<ReadLease> {

  /** Returns the name, exactly as it was passed to the client. */
  @CheckReturnValue
  String name();

  /**
   * {@inheritDoc}
   *
   * @throws IllegalArgumentException the options' TTL is too short for the client's store timeout,
   *     or they have a minimum hold, which a read cannot have
   */
  @Override
  @CheckReturnValue
  ReadLock with(LockOptions options);

  /**
   * Whether the calling thread owns a valid lease of the lock: a read, or the write, within which
   * it may read as well. Always false with {@link Ownership#LEASE}. No I/O.
   */
  @CheckReturnValue
  boolean isHeldByCurrentThread();

  /**
   * Asks the store who reads, whichever clients they belong to. Leases that share a grant show as
   * one.
   *
   * @return the readers, in no particular order; empty if there were none at that moment, and so
   *     while a writer has the lock ({@link DistributedLock#inspect()})
   * @throws LockStoreException the store gave no usable answer
   * @throws LockClientClosedException the client was closed
   */
  @CheckReturnValue
  List<LockHolder> holders();

  /**
   * Ends one grant of a reader by force if the grant that this token belongs to still stands; for
   * administrators. The other readers keep theirs. This breaks exclusion, as
   * {@link DistributedLock#forceRelease} does.
   *
   * @param expectedToken the token that {@link #holders()} showed, or that of a lease
   * @return true if that grant stood and stands no more; false if it did not, and nothing was
   *     changed
   * @throws IllegalArgumentException the token is not positive
   * @throws LockStoreException the store gave no usable answer; the grant may have been ended
   * @throws LockClientClosedException the client was closed
   */
  @CheckReturnValue
  boolean forceRelease(long expectedToken);

  /**
   * Returns this side as a {@link Lock}, as {@link DistributedLock#asLock()} does.
   *
   * @throws IllegalStateException this view has {@link Ownership#LEASE}: a {@code Lock} belongs to
   *     a thread
   */
  @CheckReturnValue
  Lock asLock();
}
