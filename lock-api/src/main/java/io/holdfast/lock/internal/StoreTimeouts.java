package io.holdfast.lock.internal;

import io.holdfast.lock.LockOptions;
import java.time.Duration;

/** The relation between a lease's TTL and the time that a call to the store may take. */
final class StoreTimeouts {
  /**
   * The least number of store timeouts in the TTL of a renewed lease: a renewal that is sent when a
   * third of the TTL is over must be able to fail and be repeated.
   */
  private static final int TIMEOUTS_PER_RENEWED_TTL = 3;

  private StoreTimeouts() {}

  static void check(LockOptions options, Duration storeTimeout) {
    Duration ttlMin = options.isRenewed()
        ? storeTimeout.multipliedBy(TIMEOUTS_PER_RENEWED_TTL)
        : storeTimeout.plusMillis(1);
    if (options.ttl().compareTo(ttlMin) < 0) {
      String sort = options.isRenewed() ? "renewed" : "fixed";
      throw new IllegalArgumentException(("A TTL of %s for %s leases is too short for the client's"
              + " store timeout of %s: take a TTL of at least %s, or build the client with a shorter"
              + " storeTimeout")
          .formatted(options.ttl(), sort, storeTimeout, ttlMin));
    }
  }
}
