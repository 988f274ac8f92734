package io.holdfast.lock.spi;

import java.util.concurrent.locks.LockSupport;

/** The machine's clocks. */
enum SystemTime implements TimeSource {
  INSTANCE;

  @Override
  public long nanos() {
    return System.nanoTime();
  }

  @Override
  public long wallMillis() {
    return System.currentTimeMillis();
  }

  @Override
  public void park(Object blocker, long nanos) {
    LockSupport.parkNanos(blocker, nanos);
  }
}
