package io.holdfast.lock.internal.grant;

import io.holdfast.lock.internal.time.Clocks;
import io.holdfast.lock.internal.time.Nanos;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The minimum hold of a grant: the time for which its name stays taken even if it is released
 * earlier.
 *
 * <p>Threads: any; no method blocks.
 */
final class MinHold {
  private final Clocks time;
  private final AtomicLong endNanos;

  private final Duration length;

  /** Whether it is in effect; if not, the clock need not be read. */
  private volatile boolean any;

  MinHold(Clocks time, long sinceNanos, Duration length) {
    this.time = time;
    this.endNanos = new AtomicLong(sinceNanos + Nanos.of(length));
    this.length = length;
  }

  Duration left() {
    return any ? Duration.ofNanos(Math.max(0, endNanos.get() - time.nanos())) : Duration.ZERO;
  }

  /** Puts it into effect, since a caller gets a lease. */
  void begin() {
    if (!length.isZero()) {
      any = true;
    }
  }

  /** Makes it last for at least that long from now. */
  void extend(Duration atLeast) {
    if (!atLeast.isZero()) {
      long extendedNanos = time.nanos() + Nanos.of(atLeast);
      long unused = endNanos.accumulateAndGet(extendedNanos, Nanos::later);
      any = true;
    }
  }
}
