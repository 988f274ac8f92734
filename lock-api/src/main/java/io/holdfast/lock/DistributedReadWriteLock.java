package io.holdfast.lock;

import java.util.concurrent.locks.ReadWriteLock;

/**
 * A named lock that either one writer holds, or any number of readers, across all JVMs that use the
 * same store. An instance is a cheap, stateless view of a name and options.
 *
 * <p><b>The write lock</b> is the lock that {@link LockClient#get} returns for the same name.
 *
 * <p><b>The read lock</b> is a {@link DistributedLock} that others can hold at the same time. Its
 * leases are leases like any other: renewed or fixed, lost or closed. A reader that crashed keeps
 * writers out for its own {@link Lease#crashBound()} at most, however many others read. What is
 * different:
 *
 * <ul>
 *   <li><b>Order.</b> Where the store has a line of waiters, readers and writers stand in one. A
 *       writer that waits keeps out readers that come after it, and readers that follow each other
 *       in the line enter together. So neither starves. A {@link DistributedLock#tryLock()} finds
 *       the read lock taken while a writer holds it, or anybody waits in line.
 *   <li><b>Sharing.</b> Readers of one client with equal options share a grant of the store: one of
 *       them asks the store, and those that waited with it, or come within 10 ms after it asked,
 *       get a lease without a request, while no thread of this client has or wants the write lock.
 *       So readers pass a writer of another client for at most 10 ms. Each reader has a lease of
 *       its own, and the last one that closes frees the lock. Renewals, {@link Lease#verify()} and
 *       a loss concern all of these leases. Nothing is shared with a fixed TTL, a minimum or a
 *       maximum hold (these times would count from another's acquire), nor with
 *       {@link LockClientBuilder#localHandOff localHandOff(false)}.
 *   <li><b>Re-entry.</b> With {@link Ownership#THREAD}, a thread that owns a read lease gets
 *       another at once, whoever waits. A thread that owns the write lock gets the read lock at
 *       once, nested in it: while that read lease is open the name stays this thread's alone, also
 *       after the write lease was closed. (In
 *       {@link java.util.concurrent.locks.ReentrantReadWriteLock} others may read then.)
 *   <li><b>No upgrade.</b> A thread that owns a read lease and asks for the write lock, by whatever
 *       method, gets an {@link IllegalStateException}, before any request: two readers that each
 *       waited for the other to stop reading would wait for ever.
 *   <li><b>{@link Ownership#LEASE}.</b> No thread owns such a lease, so neither of the last two
 *       rules can be applied: a task that asks for the write lock under its own read lease waits
 *       for itself, and so does one that asks for a second read lease once a writer waits. Do not
 *       nest these.
 *   <li><b>Tokens.</b> A reader's token is above that of the last writer before it, and below that
 *       of the next. Readers that share a grant have the same token. So a target that refuses lower
 *       tokens than it has seen refuses a reader that was overtaken by a writer.
 *   <li><b>The name, and not one of the two locks,</b> is what {@link DistributedLock#holders()},
 *       {@code inspect()} and {@link DistributedLock#forceRelease} are about: asked of either lock,
 *       they show and free readers and writers.
 * </ul>
 *
 * <p>Threads: safe for use by any number of threads, virtual threads included. All methods return
 * at once, without I/O.
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
   * @throws IllegalArgumentException the TTL is too short for the client's store timeout, or the
   *     store does not support the options; the message names the value and the remedy
   */
  @CheckReturnValue
  DistributedReadWriteLock with(LockOptions options);

  /** Returns the read lock: any number of leases of it can stand at the same time. */
  @CheckReturnValue
  DistributedLock read();

  /** Returns the write lock: the same as {@link LockClient#get(String, LockOptions)}. */
  @CheckReturnValue
  DistributedLock write();

  /**
   * Returns this lock as a {@link ReadWriteLock}, whose locks are {@code read().asLock()} and
   * {@code write().asLock()}: see {@link DistributedLock#asLock()}. Conditions are not supported.
   *
   * @throws IllegalStateException the leases are owned by themselves ({@link Ownership#LEASE})
   */
  @CheckReturnValue
  ReadWriteLock asReadWriteLock();
}
