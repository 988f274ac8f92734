package io.holdfast.lock.testsupport;

import io.holdfast.lock.spi.TimeSource;

/** Clocks that stand still, so that nothing becomes due in the background. */
public final class StandingTime implements TimeSource {
  private final TimeSource system = TimeSource.system();
  private final long nanos = system.nanos();
  private final long wallMillis = system.wallMillis();

  @Override
  public long nanos() {
    return nanos;
  }

  @Override
  public long wallMillis() {
    return wallMillis;
  }

  @Override
  public void park(Object blocker, long parkedNanos) {
    system.park(blocker, parkedNanos);
  }
}
