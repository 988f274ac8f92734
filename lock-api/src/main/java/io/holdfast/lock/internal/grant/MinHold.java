package io.holdfast.lock.internal.grant;

import java.time.Duration;

/**
 * A time for which a name stays taken even if its lease is closed.
 *
 * @param nanos its length; zero: none
 */
record MinHold(long sinceNanos, long nanos) {
  boolean isNone() {
    return nanos == 0;
  }

  Duration left(long nowNanos) {
    return Duration.ofNanos(Math.max(0, endNanos() - nowNanos));
  }

  /** Returns the one that ends later. */
  MinHold later(MinHold other) {
    return isNone() || other.endNanos() - endNanos() > 0 ? other : this;
  }

  private long endNanos() {
    return sinceNanos + nanos;
  }
}
