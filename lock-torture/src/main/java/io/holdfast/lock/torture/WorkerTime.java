package io.holdfast.lock.torture;

import io.holdfast.lock.spi.TimeSource;
import io.holdfast.lock.torture.WorkerLog.Note;
import java.util.concurrent.locks.LockSupport;

/**
 * The machine's clocks as a worker is to see them: a wall clock that was set, and a monotonic one
 * that stood still while the worker's machine was suspended. What is noted in a {@link WorkerLog}
 * has the right time all the same.
 */
final class WorkerTime implements TimeSource {
  private final WorkerLog log;

  WorkerTime(WorkerLog log) {
    this.log = log;
  }

  @Override
  public long nanos() {
    return System.nanoTime() - log.noted(Note.SUSPENDED_NANOS);
  }

  @Override
  public long wallMillis() {
    return System.currentTimeMillis() + log.noted(Note.WALL_AHEAD_MILLIS);
  }

  @Override
  public void park(Object blocker, long nanos) {
    LockSupport.parkNanos(blocker, nanos);
  }
}
