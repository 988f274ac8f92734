package io.holdfast.lock;

import java.util.List;
import java.util.concurrent.locks.Lock;

/**
 * Several named locks that are acquired together. Whoever has it has the lock of each of the names,
 * and whoever has the lock of one of them keeps it taken. One name is allowed, too, and is that
 * lock. An instance is a cheap, stateless view of names and options: get one wherever you need it.
 *
 * <p><b>Acquiring</b> is all or nothing, one name after the other (a request each), in an order
 * that is the same for all clients, whatever order the names are passed in. So no two calls wait
 * for each other for ever, as long as no thread calls this while it holds another lock that the
 * others need. A wait limit is for all names together; the last answers can take a store timeout
 * for each name that is left. A call that gets no lease gives back what it had, in reverse order.
 * While it waits for a name, it holds those before it: {@link LockOptions#maxHold()} and a fixed
 * TTL run for each name from its own grant. One that is lost meanwhile is asked for again. What
 * {@link DistributedLock} says of a client's threads is true of each name.
 *
 * <p><b>Re-entry</b> is by name. A thread that has the lock of one name can acquire that of several
 * that include it, and the other way round. A thread that would wait for one of the names while it
 * has the lock of one that comes later in the order gets an {@link IllegalStateException}, before
 * any I/O.
 *
 * <p>A client's {@link LockListener}s are told about each name on its own. A
 * {@link LockTimeoutException}, a {@link LockLostException} and a {@link LeaseLoss} name one of
 * them. Each name has its {@link DistributedLock}, by which it is freed by force.
 *
 * <p>Memory and threads: as {@link DistributedLock}.
 */
public interface JointLock extends Acquirable<JointLease> {

  /** Returns the names, each once, in the order in which they are acquired. */
  @CheckReturnValue
  List<String> names();

  @Override
  @CheckReturnValue
  JointLock with(LockOptions options);

  /**
   * Whether the calling thread owns a lease of each of the locks, through this client, that is open
   * and valid. No I/O.
   */
  @CheckReturnValue
  boolean isHeldByCurrentThread();

  /**
   * Asks the store for the holder of each of the locks, whichever client it belongs to: a request
   * for each name.
   *
   * @return the holders of those that were taken, in the order of the names
   * @throws LockStoreException the store gave no usable answer
   * @throws LockClientClosedException the client was closed
   */
  @CheckReturnValue
  List<LockHolder> holders();

  /**
   * Returns all of them as one {@link Lock}, as {@link DistributedLock#asLock()} does.
   *
   * @throws IllegalStateException this view has {@link Ownership#LEASE}: a {@code Lock} belongs to
   *     a thread
   */
  @CheckReturnValue
  Lock asLock();
}
