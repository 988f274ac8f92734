package io.holdfast.lock.consul.http;

import java.util.concurrent.TimeUnit;

/** The time that the slowest of the answers of the last half to whole minute took. Thread-safe. */
final class SlowestAnswer {
  private static final long PERIOD_NANOS = TimeUnit.SECONDS.toNanos(30);

  // All guarded by the monitor.
  private long beganNanos = System.nanoTime();
  private long inThisPeriodNanos;
  private long inTheLastNanos;

  /** Notes that an answer took so long. */
  synchronized void note(long nanos) {
    turnPeriod();
    inThisPeriodNanos = Math.max(inThisPeriodNanos, nanos);
  }

  /** Returns the time that the slowest took; zero: there was none. */
  synchronized long nanos() {
    turnPeriod();
    return Math.max(inThisPeriodNanos, inTheLastNanos);
  }

  private void turnPeriod() {
    long passedNanos = System.nanoTime() - beganNanos;
    if (passedNanos >= PERIOD_NANOS) {
      inTheLastNanos = passedNanos < 2 * PERIOD_NANOS ? inThisPeriodNanos : 0;
      inThisPeriodNanos = 0;
      beganNanos += passedNanos;
    }
  }
}
