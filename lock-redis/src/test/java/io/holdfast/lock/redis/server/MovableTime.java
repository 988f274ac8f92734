package io.holdfast.lock.redis.server;

import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/** The machine's clocks, of which the monotonic one can be moved ahead. */
public final class MovableTime implements TimeSource {
  private final TimeSource system = TimeSource.system();
  private final AtomicLong aheadNanos = new AtomicLong();

  public void advance(Duration by) {
    aheadNanos.addAndGet(by.toNanos());
  }

  @Override
  public long nanos() {
    return system.nanos() + aheadNanos.get();
  }

  @Override
  public long wallMillis() {
    return system.wallMillis();
  }

  @Override
  public void park(Object blocker, long nanos) {
    system.park(blocker, nanos);
  }
}
