package io.holdfast.lock.internal.time;

import io.holdfast.lock.spi.TimeSource;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

/**
 * The machine's clocks, but for a wall clock that is never set back: where the machine's is, this
 * one goes on from what it showed. So the distance by which it is ahead of the monotonic clock is
 * the sum of all suspensions (and of all settings forward) that were seen, and no setting back, be
 * it before or after, hides one of them.
 *
 * <p>What came between two readings is seen as one change. So it is read at least every second
 * while leases are held.
 *
 * <p>Threads: any.
 */
public final class RisingWallClock implements TimeSource {
  /** The wall clock is read in milliseconds. */
  private static final long GRAIN_NANOS = 1_000_000;

  private static final AtomicReferenceFieldUpdater<RisingWallClock, Reading> LAST =
      AtomicReferenceFieldUpdater.newUpdater(RisingWallClock.class, Reading.class, "last");

  private final TimeSource machine;
  private volatile Reading last;

  /**
   * What was seen last of the machine's clocks.
   *
   * @param aheadNanos the distance by which its wall clock was ahead of its monotonic one
   * @param setBackNanos by how much its wall clock was set back in total
   */
  private record Reading(long aheadNanos, long setBackNanos) {
    Reading ahead(long nanos) {
      return new Reading(nanos, setBackNanos + Math.max(0, aheadNanos - nanos));
    }
  }

  /** @param machine the clocks as they are */
  public RisingWallClock(TimeSource machine) {
    this.machine = machine;
    this.last = new Reading(machine.wallMillis() * GRAIN_NANOS - machine.nanos(), 0);
  }

  @Override
  public long nanos() {
    return machine.nanos();
  }

  @Override
  public long wallMillis() {
    while (true) {
      Reading before = last;
      long wallNanos = machine.wallMillis() * GRAIN_NANOS;
      if (Math.abs(wallNanos - machine.nanos() - before.aheadNanos) <= GRAIN_NANOS) {
        return (wallNanos + before.setBackNanos) / GRAIN_NANOS;
      }
      // A pause between these widens the range, and looks like nothing.
      long beforeNanos = machine.nanos();
      wallNanos = machine.wallMillis() * GRAIN_NANOS;
      long aheadNanosMin = wallNanos - machine.nanos();
      long aheadNanosMax = wallNanos - beforeNanos;
      boolean rose = aheadNanosMin - before.aheadNanos > GRAIN_NANOS;
      boolean fell = before.aheadNanos - aheadNanosMax > GRAIN_NANOS;
      if (!rose && !fell) {
        return (wallNanos + before.setBackNanos) / GRAIN_NANOS;
      }
      Reading now = before.ahead(rose ? aheadNanosMin : aheadNanosMax);
      if (LAST.compareAndSet(this, before, now)) {
        return (wallNanos + now.setBackNanos) / GRAIN_NANOS;
      }
    }
  }

  @Override
  public void park(Object blocker, long nanos) {
    machine.park(blocker, nanos);
  }
}
