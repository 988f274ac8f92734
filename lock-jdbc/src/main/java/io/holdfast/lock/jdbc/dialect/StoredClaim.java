package io.holdfast.lock.jdbc.dialect;

/**
 * A claim as the database stores it.
 *
 * @param key the stored name
 * @param owner the claim's owner id
 * @param ttlMicros the time for which the lock is taken, in microseconds
 * @param holder the description of the holder, for humans
 */
public record StoredClaim(String key, String owner, long ttlMicros, String holder) {}
