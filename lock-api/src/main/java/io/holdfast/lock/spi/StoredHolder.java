package io.holdfast.lock.spi;

import java.time.Duration;
import java.time.Instant;

/**
 * The holder of a lock, as the store shows it.
 *
 * @param number the grant's number
 * @param description the claim's {@link Claim#holder()}
 * @param since the time at which the lock was granted; if the store does not record that, the time
 *     at which the holder asked for it; if neither was recorded, {@link Instant#EPOCH}. Read from
 *     the store's wall clock if it has one, else from the holder's; for humans
 * @param remaining the time after which the store frees the name unless the lease is renewed; never
 *     negative
 * @param released whether the holder has released the lock, and only a minimum hold keeps the name
 *     taken
 */
public record StoredHolder(
    long number, String description, Instant since, Duration remaining, boolean released) {}
