package io.holdfast.lock.testsupport;

import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/** The machine's clocks, which can be put ahead. */
public final class MovableTime implements TimeSource {
  private final TimeSource system = TimeSource.system();
  private final AtomicLong nanos = new AtomicLong();
  private final AtomicLong wallMillis = new AtomicLong();

  /** Lets time pass on both clocks. */
  public void pass(Duration more) {
    nanos.addAndGet(more.toNanos());
    jumpWall(more);
  }

  /** Puts only the wall clock ahead, as if the machine had been suspended. */
  public void jumpWall(Duration more) {
    wallMillis.addAndGet(more.toMillis());
  }

  @Override
  public long nanos() {
    return system.nanos() + nanos.get();
  }

  @Override
  public long wallMillis() {
    return system.wallMillis() + wallMillis.get();
  }

  @Override
  public void park(Object blocker, long parkedNanos) {
    system.park(blocker, parkedNanos);
  }
}
