package io.holdfast.lock.spi;

import java.time.Duration;

/**
 * Who has a lock, as the store shows it.
 *
 * @param number the grant's number
 * @param description the claim's {@link Claim#holder()}
 * @param remaining the time until the store frees the name if nothing renews it; never negative
 * @param released whether the holder is done and only a minimum hold keeps the name taken
 */
public record StoredHolder(long number, String description, Duration remaining, boolean released) {}
