package io.holdfast.lock;

import java.util.List;

/**
 * A named lock of which at most as many leases stand at any time as it has permits, across all JVMs
 * that use the same store. An instance is a cheap, stateless view of a name, a number and options:
 * get one wherever you need it.
 *
 * <p><b>The lease</b> says which permit it has ({@link PermitLease#permit()}), and a permit's
 * tokens rise: so what a permit stands for (a connection, a printer, a shard) can be fenced, by
 * token and permit. A crash gives a permit back within the lease's {@link AnyLease#crashBound()}.
 *
 * <p><b>Acquiring</b> takes one permit, each time: a semaphore is not reentrant, and its leases
 * belong to no thread: its {@link #options()} have {@link Ownership#LEASE}, whatever was asked for.
 * A thread that has a permit and asks for another gets another, or waits; if all permits are its
 * own, it waits until another thread closes one of their leases. A lost lease does not keep its
 * thread from acquiring again.
 *
 * <p>Every call asks the store, also one that does not wait: leases of one client are not shared or
 * handed on among its threads. A call that waits stands in the store's line with a place of its
 * own, so the order of arrival, also within a client, is the store's; its page says what it
 * promises.
 *
 * <p><b>The number of permits</b> is kept at the store while a permit is held or somebody waits. An
 * acquire with another number then is a {@link PermitsMismatchException}, which names both, before
 * anything is taken; once nothing is held and nobody waits, the next acquire's number holds. So to
 * change it, let all clients with the old number close their leases; of one that crashed, the
 * number stays for its crash bound at most.
 *
 * <p>Memory: there is no happens-before edge among the leases of a semaphore.
 *
 * <p>Threads: safe for use by any number of threads, virtual threads included.
 */
public interface DistributedSemaphore extends Acquirable<PermitLease> {

  /** Returns the name, exactly as it was passed to the client. */
  @CheckReturnValue
  String name();

  /** Returns the number of permits that this view asks with. */
  @CheckReturnValue
  int permits();

  @Override
  @CheckReturnValue
  DistributedSemaphore with(LockOptions options);

  /**
   * Asks the store who has a permit, whichever clients they belong to.
   *
   * @return the holders, in the order of their permits; empty if all permits were free at that
   *     moment
   * @throws LockStoreException the store gave no usable answer
   * @throws LockClientClosedException the client was closed
   */
  @CheckReturnValue
  List<PermitHolder> holders();

  /**
   * Frees one permit by force if the grant that this token belongs to still has it; for
   * administrators. This breaks mutual exclusion, as {@link DistributedLock#forceRelease} does.
   *
   * @param expectedToken the token that {@link #holders()} showed, or that of the lease
   * @return true if that grant had the permit and has it no more; false if it did not have it, and
   *     nothing was changed
   * @throws IllegalArgumentException the token is not positive
   * @throws LockStoreException the store gave no usable answer; the permit may have been freed
   * @throws LockClientClosedException the client was closed
   */
  @CheckReturnValue
  boolean forceRelease(long expectedToken);
}
