package io.holdfast.lock.internal.time;

import io.holdfast.lock.spi.TimeSource;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

/**
 * The machine's two clocks, except that the wall clock is never set back: if the machine's is, this
 * one goes on from what it showed. {@link System#nanoTime} stands still on many systems while the
 * machine is suspended; the wall clock then jumps ahead. So its distance ahead of the monotonic
 * clock is the sum of all suspensions (and of all forward adjustments) that were seen, and no
 * backward adjustment before or after hides one of them.
 *
 * <p>All changes between two readings are seen as one. So the clocks are read at least every second
 * while locks are held or asked for.
 *
 * <p>Threads: any.
 */
public final class Clocks implements TimeSource {
  /** The resolution of the wall clock, which is read in milliseconds. */
  private static final long GRAIN_NANOS = 1_000_000;

  /**
   * The number of readings to try: enough for a change and a pause. A thread that is paused in each
   * of them takes the last one.
   */
  private static final int READS_MAX = 4;

  private static final AtomicReferenceFieldUpdater<Clocks, Change> LAST =
      AtomicReferenceFieldUpdater.newUpdater(Clocks.class, Change.class, "last");

  private final TimeSource machine;
  private volatile Change last;

  /**
   * The last change of the distance between the machine's clocks.
   *
   * @param aheadNanos how far the machine's wall clock was ahead of its monotonic one
   * @param setBackNanos the total by which the machine's wall clock was set back
   */
  private record Change(long aheadNanos, long setBackNanos) {
    Change to(long nextAheadNanos) {
      return new Change(nextAheadNanos, setBackNanos + Math.max(0, aheadNanos - nextAheadNanos));
    }
  }

  /** @param machine the machine's real clocks */
  public Clocks(TimeSource machine) {
    this.machine = machine;
    this.last = new Change(machine.wallMillis() * GRAIN_NANOS - machine.nanos(), 0);
  }

  /**
   * Reads both clocks, the wall clock first. A pause between the two makes the distance too small,
   * as if the wall clock had been set back for a while. Before a request that errs towards doubt.
   * In a reading of the present it hides a jump, but only one of the pause's length, and only this
   * once.
   */
  public ClockReading read() {
    for (int read = 1; ; read++) {
      Change known = last;
      long wallNanos = machine.wallMillis() * GRAIN_NANOS;
      long nanos = machine.nanos();
      long aheadNanos = wallNanos - nanos;
      if (Math.abs(aheadNanos - known.aheadNanos) <= GRAIN_NANOS || read == READS_MAX) {
        return new ClockReading(nanos, aheadNanos + known.setBackNanos);
      }
      noteChange(known);
    }
  }

  /**
   * Records that the wall clock was adjusted or the machine slept, unless there was only a pause
   * between the readings.
   */
  private void noteChange(Change known) {
    // A pause between these readings only widens the range of distances, and is not taken for a
    // change.
    long beforeNanos = machine.nanos();
    long wallNanos = machine.wallMillis() * GRAIN_NANOS;
    long aheadNanosMin = wallNanos - machine.nanos();
    long aheadNanosMax = wallNanos - beforeNanos;
    if (aheadNanosMin - known.aheadNanos > GRAIN_NANOS) {
      LAST.compareAndSet(this, known, known.to(aheadNanosMin));
    } else if (known.aheadNanos - aheadNanosMax > GRAIN_NANOS) {
      LAST.compareAndSet(this, known, known.to(aheadNanosMax));
    }
  }

  @Override
  public long nanos() {
    return machine.nanos();
  }

  /** Returns the wall clock that is never set back, as in {@link #read}. */
  @Override
  public long wallMillis() {
    ClockReading now = read();
    return (now.nanos() + now.wallAheadNanos()) / GRAIN_NANOS;
  }

  @Override
  public void park(Object blocker, long nanos) {
    machine.park(blocker, nanos);
  }
}
