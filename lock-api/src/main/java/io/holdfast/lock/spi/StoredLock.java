package io.holdfast.lock.spi;

import java.util.OptionalInt;

/**
 * A held lock, as the store lists it.
 *
 * @param key the lock
 * @param holder its holder
 * @param waiting the number of claims in the store's line for it; empty if the store has no line,
 *     or does not count
 */
public record StoredLock(LockKey key, StoredHolder holder, OptionalInt waiting) {}
