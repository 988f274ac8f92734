package io.holdfast.lock.spi;

import java.time.Duration;

/**
 * A store's grant of a lock to a claim. A store implements it, as a record for example, with
 * whatever it needs to find the grant again; the engine passes the same object back. Immutable.
 */
public interface Grant {
  /** The claim that was granted. */
  Claim claim();

  /**
   * The number of this grant: positive, below 2^53, and above that of every earlier grant of the
   * same key, whatever crashes, restarts, expires or is purged in between. Different answers about
   * the same grant have the same number.
   */
  long number();

  /**
   * The time for which the grant is valid, counted from when the engine called the method that
   * returned it (for {@link Ticket#handedOver}, see there). At most the TTL. It is less if the
   * session that it depends on may end sooner, or if the lock was handed over: such a grant is
   * valid for a short time only, until its first renewal.
   */
  Duration validFor();

  /**
   * The longest time for which the name can stay taken if this process dies now.
   *
   * @param ttl the longest TTL that the store was asked for: the claim's, or that of an extension
   */
  Duration crashBound(Duration ttl);
}
