package io.holdfast.lock.tck;

import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;

/**
 * The machine's clocks, with an offset of the wall clock. The monotonic clock, by which threads
 * wait, is the machine's.
 *
 * <p>Threads: safe for use by any number of threads.
 */
public final class SkewedTime implements TimeSource {
  private final TimeSource system = TimeSource.system();
  private volatile long skewMillis;

  /** Makes clocks without an offset. */
  public SkewedTime() {}

  /** Sets the wall clock ahead of the machine's by this offset, or behind it if negative. */
  public void setWallAhead(Duration skew) {
    skewMillis = skew.toMillis();
  }

  @Override
  public long nanos() {
    return system.nanos();
  }

  @Override
  public long wallMillis() {
    return system.wallMillis() + skewMillis;
  }

  @Override
  public void park(Object blocker, long nanos) {
    system.park(blocker, nanos);
  }
}
