package io.holdfast.lock.torture;

import io.holdfast.lock.spi.TimeSource;
import io.holdfast.lock.torture.WorkerLog.Note;
import java.util.concurrent.locks.LockSupport;

/**
 * A worker's clocks: a wall clock that can be set, and a monotonic one that stands still while the
 * worker's machine is suspended. Times in a {@link WorkerLog} are the machine's.
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
