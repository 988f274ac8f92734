package io.holdfast.lock.spi;

import java.time.Duration;

/**
 * A lock that a store gave to a claim. A store implements it with what it needs to find the grant
 * again (a record will do); the engine hands the same object back. Immutable.
 */
public interface Grant {
  /** The attempt that was granted. */
  Claim claim();

  /**
   * The number of this grant: positive, below 2^53, and above that of every earlier grant of the
   * same key, over client crashes, server restarts, expiry and purges. Two calls that are answered
   * about one grant tell the same number.
   */
  long number();

  /**
   * The time for which the grant is good, counted from the moment at which the engine called the
   * method that returned it, but for {@link Ticket#handedOver}. This is less than the TTL on stores
   * with sessions, if the session may end sooner, and for a lock that was handed over, which first
   * waits for a sign of life only.
   */
  Duration validFor();

  /** The longest time for which the name can stay taken if this process dies now. */
  Duration crashBound();
}
