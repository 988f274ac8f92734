package io.holdfast.lock.spi;

import java.time.Duration;
import java.util.Objects;

/**
 * One attempt to get a lock.
 *
 * @param key the lock
 * @param ownerId the id that the store records as the owner if it grants the lock: 32 lower-case
 *     hexadecimal digits, unguessable (128 random bits), never used for a second attempt. It
 *     identifies late or repeated answers, and attempts that are to be withdrawn
 * @param ttl the time for which the store keeps the grant without a renewal; whole microseconds
 * @param minHold the least time for which the name must stay taken, counted from the acquire; zero:
 *     none. For stores that must prepare for it then; {@link LockStore#release} says later how much
 *     of it is left
 * @param holder a description of the owner for a human: client, host, process, thread; at most
 *     {@value #HOLDER_LENGTH_MAX} characters
 * @param permits the number of permits that the lock has, as the claimant knows it, of which this
 *     claim wants one: 1 to {@value #PERMITS_MAX} for a {@link LockKind#PERMIT}, 1 for every other
 *     kind
 */
public record Claim(
    LockKey key, String ownerId, Duration ttl, Duration minHold, String holder, int permits) {
  /** The greatest length of a description of a holder, in characters. */
  public static final int HOLDER_LENGTH_MAX = 200;

  /** The greatest number of permits of a semaphore. */
  public static final int PERMITS_MAX = 1_000;

  /** Makes a claim to a lock that has one holder at a time. */
  public Claim(LockKey key, String ownerId, Duration ttl, Duration minHold, String holder) {
    this(key, ownerId, ttl, minHold, holder, 1);
  }

  /** Checks nothing but nulls: the engine makes claims. */
  public Claim {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(ownerId, "ownerId");
    Objects.requireNonNull(ttl, "ttl");
    Objects.requireNonNull(minHold, "minHold");
    Objects.requireNonNull(holder, "holder");
  }
}
