package io.holdfast.lock.spi;

import java.time.Duration;
import java.util.Objects;

/**
 * One attempt to get a lock.
 *
 * @param key which lock
 * @param ownerId the owner that the store writes down if it grants the lock: 32 lower-case
 *     hexadecimal digits, unguessable (128 random bits), never used for a second attempt. By it a
 *     late or repeated answer is recognised, and an abandoned attempt withdrawn
 * @param ttl the time for which the store keeps the grant if nothing renews it; whole microseconds
 * @param minHold the least time for which the name shall stay taken; zero: until released. Stores
 *     that need to prepare for it at acquire read it here; what is left of it comes with the
 *     release
 * @param holder a description of the owner for a human: client, host, process, thread; at most
 *     {@value #HOLDER_LENGTH_MAX} characters
 */
public record Claim(LockKey key, String ownerId, Duration ttl, Duration minHold, String holder) {
  /** The most characters that a description of a holder has. */
  public static final int HOLDER_LENGTH_MAX = 200;

  /** Checks nothing but nulls: the engine makes claims. */
  public Claim {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(ownerId, "ownerId");
    Objects.requireNonNull(ttl, "ttl");
    Objects.requireNonNull(minHold, "minHold");
    Objects.requireNonNull(holder, "holder");
  }
}
