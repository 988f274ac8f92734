package io.holdfast.lock.spi;

import java.util.List;

/**
 * The protocol of a store that has read-write locks as well as locks: it also gets
 * {@linkplain Claim.Shared shared} claims, of keys of the {@linkplain LockKind#MUTEX kind MUTEX},
 * so that readers and the mutex of one name exclude each other. They differ from exclusive ones in
 * this:
 *
 * <ul>
 *   <li>Any number of shared grants of a key may stand at a time, but none while an exclusive one
 *       does. To an exclusive claim, "taken" means that any grant stands, or that somebody is in
 *       line. To a shared one, it means that an exclusive grant stands, or that somebody is in
 *       line.
 *   <li>There is one line for both. Whoever is first in it is let in as soon as its mode allows
 *       that beside those who have the lock, and with it all shared claims up to the first
 *       exclusive one, without waiting for each other. Nobody passes the line. Whoever leaves it,
 *       or is dead, lets in those behind it.
 *   <li>Each shared grant ends by itself: released, withdrawn, or when its own time is over,
 *       whatever happens to the others. One client can have several.
 *   <li>The {@linkplain Grant#number() number} of a shared grant is above that of every earlier
 *       exclusive grant of the key, and below that of every later one. No two grants of a key have
 *       the same.
 *   <li>{@link #inspect} and {@link #list} show one of the readers while there are any.
 *       {@link #forceRelease} ends the one grant that has that number.
 * </ul>
 */
public interface ReadWriteStore extends LockStore {
  /**
   * Asks whose shared grants of a lock stand.
   *
   * @param key one of {@link LockKind#MUTEX}
   * @return the holders; empty if nobody shares the lock
   * @throws StoreException no usable answer
   */
  List<StoredHolder> readers(LockKey key) throws StoreException;
}
