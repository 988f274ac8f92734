package io.holdfast.lock.internal.grant;

import io.holdfast.lock.internal.time.Clocks;
import io.holdfast.lock.internal.time.Nanos;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The time for which a grant keeps its name taken even if the lease is closed.
 *
 * <p>Threads: any; no method blocks.
 */
final class MinHold {
  private final Clocks time;
  private final AtomicLong endNanos;

  private final Duration length;

  /** Whether one counts: without, the clock need not be read. */
  private volatile boolean any;

  MinHold(Clocks time, long sinceNanos, Duration length) {
    this.time = time;
    this.endNanos = new AtomicLong(sinceNanos + Nanos.of(length));
    this.length = length;
  }

  Duration left() {
    return any ? Duration.ofNanos(Math.max(0, endNanos.get() - time.nanos())) : Duration.ZERO;
  }

  /** Lets it count: somebody has the lease. */
  void begin() {
    any = !length.isZero();
  }

  /** Lets it last for at least that long from now. */
  void extend(Duration atLeast) {
    if (!atLeast.isZero()) {
      long extendedNanos = time.nanos() + Nanos.of(atLeast);
      long unused = endNanos.accumulateAndGet(extendedNanos, Nanos::later);
      any = true;
    }
  }
}
