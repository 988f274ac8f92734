package io.holdfast.lock.spi;

import java.time.Duration;
import java.util.Objects;

/**
 * One attempt to get a lock.
 *
 * @param key the lock
 * @param mode the use of it that the claim asks for: {@link Permit} if the key is a
 *     {@link LockKind#PERMIT}, {@link Exclusive} or {@link Shared} if it is a
 *     {@link LockKind#MUTEX}
 * @param ownerId the id that the store records as the owner if it grants the lock: 32 lower-case
 *     hexadecimal digits, unguessable (128 random bits), never used for a second attempt. It
 *     identifies late or repeated answers, and attempts that are to be withdrawn
 * @param ttl the time for which the store keeps the grant without a renewal; whole microseconds
 * @param minHold the least time for which the name must stay taken, counted from the acquire; zero:
 *     none. For stores that must prepare for it then; {@link LockStore#release} says later how much
 *     of it is left
 * @param holder a description of the owner for a human: client, host, process, thread; at most
 *     {@value #HOLDER_LENGTH_MAX} characters
 */
public record Claim(
    LockKey key, Mode mode, String ownerId, Duration ttl, Duration minHold, String holder) {
  /** The greatest length of a description of a holder, in characters. */
  public static final int HOLDER_LENGTH_MAX = 200;

  /** The greatest number of permits of a semaphore. */
  public static final int PERMITS_MAX = 1_000;

  /** The mode of a claim that wants the lock for itself. */
  public static final Mode EXCLUSIVE = new Exclusive();

  /** The mode of a claim that shares the lock with others that do. */
  public static final Mode SHARED = new Shared();

  /**
   * The use of a key that a claim asks for. More may be added: stores get only those they are for.
   */
  public sealed interface Mode {}

  /** Nobody else may have the lock. */
  public record Exclusive() implements Mode {}

  /**
   * Others may have the lock, if their claims are shared too. Only for a {@link ReadWriteStore}.
   */
  public record Shared() implements Mode {}

  /**
   * One of so many permits.
   *
   * @param of the number of permits that the semaphore has, as the claimant knows it: 1 to
   *     {@value #PERMITS_MAX}
   */
  public record Permit(int of) implements Mode {}

  /** Checks nothing but nulls: the engine makes claims. */
  public Claim {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(mode, "mode");
    Objects.requireNonNull(ownerId, "ownerId");
    Objects.requireNonNull(ttl, "ttl");
    Objects.requireNonNull(minHold, "minHold");
    Objects.requireNonNull(holder, "holder");
  }
}
