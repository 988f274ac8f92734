package io.holdfast.lock.jdbc.dialect;

/**
 * What an acquire writes.
 *
 * @param key the stored name
 * @param owner the claim's owner id
 * @param ttlMicros for how long the lock is taken
 * @param holder who asks, for a human
 */
public record Attempt(String key, String owner, long ttlMicros, String holder) {}
