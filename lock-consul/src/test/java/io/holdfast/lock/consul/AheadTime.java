package io.holdfast.lock.consul;

import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/** The machine's clocks, which can be put ahead. */
final class AheadTime implements TimeSource {
  private final TimeSource system = TimeSource.system();
  private final AtomicLong nanos = new AtomicLong();

  void by(Duration more) {
    nanos.addAndGet(more.toNanos());
  }

  @Override
  public long nanos() {
    return system.nanos() + nanos.get();
  }

  @Override
  public long wallMillis() {
    return system.wallMillis() + Duration.ofNanos(nanos.get()).toMillis();
  }

  @Override
  public void park(Object blocker, long nanos) {
    system.park(blocker, nanos);
  }
}
