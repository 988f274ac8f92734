package io.holdfast.lock.spi;

import java.time.Duration;
import java.time.Instant;

/**
 * The holder of a lock, as the store shows it.
 *
 * @param number the grant's number
 * @param description the claim's {@link Claim#holder()}
 * @param since the time at which the lock was granted; a store that does not note that tells the
 *     time at which the holder asked, and {@link Instant#EPOCH} where nobody noted that either. By
 *     the store's wall clock where it has one, else by the holder's: for a human
 * @param remaining the time until the store frees the name if nothing renews it; never negative
 * @param released whether the holder is done and only a minimum hold keeps the name taken
 */
public record StoredHolder(
    long number, String description, Instant since, Duration remaining, boolean released) {}
