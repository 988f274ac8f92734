package io.holdfast.lock.internal.time;

import io.holdfast.lock.spi.TimeSource;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

/**
 * The machine's two clocks, but for a wall clock that is never set back: where the machine's is,
 * this one goes on from what it showed. {@link System#nanoTime} stands still on many systems while
 * the machine is suspended; the wall clock then jumps ahead. So the distance by which it is ahead
 * of the monotonic clock is the sum of all suspensions (and of all settings forward) that were
 * seen, and no setting back, be it before or after, hides one of them.
 *
 * <p>What came between two readings is seen as one change. So the clocks are read at least every
 * second while leases are held.
 *
 * <p>Threads: any.
 */
public final class Clocks implements TimeSource {
  /** The wall clock is read in milliseconds. */
  private static final long GRAIN_NANOS = 1_000_000;

  /** Enough for a change and a pause; who reads in a pause time and again takes what is there. */
  private static final int READS_MAX = 4;

  private static final AtomicReferenceFieldUpdater<Clocks, Change> LAST =
      AtomicReferenceFieldUpdater.newUpdater(Clocks.class, Change.class, "last");

  private final TimeSource machine;
  private volatile Change last;

  /**
   * The last change of the distance between the machine's clocks.
   *
   * @param aheadNanos the distance by which its wall clock was ahead of its monotonic one
   * @param setBackNanos by how much its wall clock was set back in total
   */
  private record Change(long aheadNanos, long setBackNanos) {
    Change to(long nextAheadNanos) {
      return new Change(nextAheadNanos, setBackNanos + Math.max(0, aheadNanos - nextAheadNanos));
    }
  }

  /** @param machine the clocks as they are */
  public Clocks(TimeSource machine) {
    this.machine = machine;
    this.last = new Change(machine.wallMillis() * GRAIN_NANOS - machine.nanos(), 0);
  }

  /**
   * Both clocks now. The wall clock is read first: a pause between the two then looks as if it was
   * set back for a while, which errs towards doubt; the other way round it would hide a jump of its
   * length.
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

  /** Notes that the wall clock was set or the machine slept, unless it was a mere pause. */
  private void noteChange(Change known) {
    // A pause between these widens the range, and looks like nothing.
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

  /** As {@link #read} has it. */
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
