package io.holdfast.lock.micrometer;

import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/** The machine's clocks, with a wall clock that can be set forward. */
final class JumpingTime implements TimeSource {
  private final TimeSource system = TimeSource.system();
  private final AtomicLong aheadMillis = new AtomicLong();

  void jump(Duration ahead) {
    aheadMillis.addAndGet(ahead.toMillis());
  }

  @Override
  public long nanos() {
    return system.nanos();
  }

  @Override
  public long wallMillis() {
    return system.wallMillis() + aheadMillis.get();
  }

  @Override
  public void park(Object blocker, long nanos) {
    system.park(blocker, nanos);
  }
}
