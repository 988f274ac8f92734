package io.holdfast.lock.jdbc;

import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** Time that only the test moves on: nobody looks of his own accord. */
final class HandMovedTime implements TimeSource {
  private final AtomicLong nanos = new AtomicLong();

  void pass(Duration time) {
    nanos.addAndGet(time.toNanos());
  }

  @Override
  public long nanos() {
    return nanos.get();
  }

  @Override
  public long wallMillis() {
    return TimeUnit.NANOSECONDS.toMillis(nanos.get());
  }

  @Override
  public void park(Object blocker, long parkNanos) {
    LockSupport.parkNanos(blocker, TimeUnit.MILLISECONDS.toNanos(10));
  }
}
