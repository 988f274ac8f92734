package io.holdfast.lock.spi;

import java.util.List;

/**
 * The protocol of a store that has semaphores as well as read-write locks and locks: it also gets
 * claims of the {@linkplain LockKind#PERMIT kind PERMIT}, and answers them with a
 * {@link PermitGrant}. They differ from those to a lock in this:
 *
 * <ul>
 *   <li>A key has as many permits as its claims say, N, numbered from 0 to N - 1, and at most N
 *       grants of it stand at any time, each with a {@linkplain PermitGrant#permit() permit} that
 *       no other has. A permit that only a minimum hold keeps taken is one of the N. "Taken" means
 *       that all N are, or that others stand in line before.
 *   <li>The engine sends each of its callers to the store: one client can have several claims to a
 *       key in line and several grants of it at the same time, and makes any number of acquiring
 *       calls per key at a time (one per claim). Grants of one client are told apart, released,
 *       renewed, verified and withdrawn by owner id, as ever.
 *   <li>N is kept at the store, with what is held and who waits. While a permit is held, or
 *       somebody alive is in line, an acquiring call with another N ends with a
 *       {@link PermitsDifferException} and changes nothing; so does the poll of a waiter that lost
 *       its place. Once nothing is held and nobody waits, the next claim's N holds. So after a
 *       crash of all holders an old N stays for the crash bound at most.
 *   <li>Where the store has a line, permits are given to those in it in the order of their joining,
 *       and nobody gets one past the line. When several permits become free at once, as many
 *       waiters must be woken: when one takes a permit, another is free and others wait, the store
 *       wakes the next.
 *   <li>{@link #holders} shows all that hold a permit; {@link #forceRelease} frees the one permit
 *       whose grant has that number. {@link #inspect} and {@link #list} are not called for it.
 *   <li>A guarded write under such a grant checks that this grant stands, not another of the same
 *       key; a guard that can't check it refuses it with an {@link IllegalArgumentException}.
 * </ul>
 */
public interface PermitStore extends ReadWriteStore {
  /**
   * Asks who has a permit of a semaphore, those that only a minimum hold keeps included.
   *
   * @param key one of {@link LockKind#PERMIT}
   * @return in the order of the permits; empty if all are free
   * @throws StoreException no usable answer
   */
  List<StoredPermit> holders(LockKey key) throws StoreException;
}
