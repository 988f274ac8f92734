package io.holdfast.lock;

import java.util.concurrent.locks.ReadWriteLock;

/**
 * A named lock that either one writer or any number of readers have at a time, across all JVMs that
 * use the same store. Its write lock is the lock of that name. An instance is a cheap, stateless
 * view of a name and options: get one wherever you need it.
 *
 * <p><b>Order.</b> Readers and writers are served in the order in which they began to wait. A
 * writer that waits keeps later readers out, so readers cannot starve it; readers that wait behind
 * one writer are let in together. {@link ReadLock#tryLock()} finds the lock taken while a writer
 * has it, or waits.
 *
 * <p><b>Readers of one client</b> that ask at about the same time share a grant of the store: one
 * that comes within the time that the last reads took (or twice an acquire; 100 ms at most) joins
 * it without a request, even if a writer waits. The grant is given back by the last of them.
 *
 * <p><b>No upgrade.</b> A thread that owns a read and asks for the write lock gets an
 * {@link IllegalStateException}, since two that did so would wait for each other: close the read
 * first, and look again at what was read once the write lock is there. The other way works: a
 * thread that owns the write gets reads, and the lock stays exclusive until the last of its leases
 * is closed.
 *
 * <p><b>Across processes</b> nobody can see that a caller reads already: if A reads and calls B, B
 * asks for a read, and a writer waits in between, both wait for ever. Let B wait with a limit, or
 * don't have it ask.
 *
 * <p>Threads: safe for use by any number of threads, virtual threads included.
 */
public interface DistributedReadWriteLock {

  /** Returns the name, exactly as it was passed to the client. */
  @CheckReturnValue
  String name();

  /** Returns the options of the leases that are acquired through this view. */
  @CheckReturnValue
  LockOptions options();

  /**
   * Returns a view of the same lock with other options. This view is unchanged.
   *
   * @throws IllegalArgumentException the options' TTL is too short for the client's store timeout,
   *     or they have a minimum hold: give that to the {@linkplain #write() write lock} alone
   */
  @CheckReturnValue
  DistributedReadWriteLock with(LockOptions options);

  /** Returns the side that any number of readers may have at a time. No I/O. */
  @CheckReturnValue
  ReadLock read();

  /** Returns the side that one writer has: the same lock as {@link LockClient#get(String)}. */
  @CheckReturnValue
  DistributedLock write();

  /**
   * Returns both sides as a {@link ReadWriteLock}, for code that needs one; see
   * {@link DistributedLock#asLock()}. A thread that has the read lock and asks for the write lock
   * gets an {@link IllegalStateException}, where that of the JDK would wait for ever.
   *
   * @throws IllegalStateException this view has {@link Ownership#LEASE}: a {@code ReadWriteLock}
   *     belongs to threads
   */
  @CheckReturnValue
  ReadWriteLock asReadWriteLock();
}
