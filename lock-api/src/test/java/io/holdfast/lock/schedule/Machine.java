package io.holdfast.lock.schedule;

import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.time.Clocks;
import io.holdfast.lock.spi.TimeSource;
import org.jspecify.annotations.Nullable;

/**
 * The clocks of a client's machine, and the samples of them that its keeper takes.
 *
 * <p>The monotonic clock stands still while the machine is suspended; the wall clock goes on, so
 * that every suspension shows there in full. A setting back and a suspension, whichever comes
 * first, always have a sample between them: the design promises no more.
 *
 * <p>A keeper samples at least every second. Samples that would find nothing new are left out.
 */
final class Machine implements TimeSource {
  /** At least so often a keeper looks at the wall clock while it keeps a grant. */
  private static final long SAMPLE_INTERVAL_NANOS = 1_000_000_000;

  private static final long MILLIONTHS = 1_000_000;

  private final Flaw flaw;
  private final int ratePpm;
  private final int wallRatePpm;

  private long nanos;
  private long wallNanos = 1_700_000_000_000_000_000L;
  private boolean suspended;

  /** Whether the keeper has other leases to keep. */
  private final boolean keepsOthers;

  private @Nullable ActiveGrant kept;
  private long sampleAtNanos;

  /** The clocks changed since the last sample; without that, a sample changes nothing. */
  private boolean stirred;

  private boolean setBackUnsampled;
  private long lastSetBackNanos;
  private long lastSuspensionNanos;
  private boolean suspensionUnsampled;

  private final Clocks seen;

  // What the engine's clock has seen, in our own words
  private long seenAheadNanos;
  private long seenSetBackNanos;

  /** For the flaw. */
  private long aheadNanosMax = Long.MIN_VALUE;

  Machine(Flaw flaw, long startNanos, int ratePpm, int wallRatePpm, boolean keepsOthers) {
    this.flaw = flaw;
    this.nanos = startNanos;
    this.ratePpm = ratePpm;
    this.wallRatePpm = wallRatePpm;
    this.keepsOthers = keepsOthers;
    this.seenAheadNanos = aheadNanos();
    this.seen = new Clocks(this);
  }

  @Override
  public long nanos() {
    return nanos;
  }

  /** Read by the engine. */
  @Override
  public long wallMillis() {
    long ahead = aheadNanos();
    long fallNanos = seenAheadNanos - ahead;
    if (Math.abs(fallNanos) > MILLIONTHS) {
      seenAheadNanos = ahead;
      seenSetBackNanos += Math.max(0, fallNanos);
    }
    return machineWallMillis();
  }

  private long machineWallMillis() {
    if (flaw == Flaw.SET_BACK_HIDDEN) {
      aheadNanosMax = Math.max(aheadNanosMax, wallNanos - nanos);
      return (nanos + aheadNanosMax) / MILLIONTHS;
    }
    return wallNanos / MILLIONTHS;
  }

  @Override
  public void park(Object blocker, long parkNanos) {
    throw new AssertionError("Nothing waits here");
  }

  /** The clocks as the engine has them. */
  Clocks seen() {
    return seen;
  }

  void pass(long worldNanos) {
    if (suspended) {
      lastSuspensionNanos += worldNanos;
    }
    if (!suspended) {
      nanos += worldNanos + worldNanos * ratePpm / MILLIONTHS;
    } else if (flaw == Flaw.SUSPENSION_UNSEEN) {
      return;
    }
    wallNanos += worldNanos + worldNanos * wallRatePpm / MILLIONTHS;
  }

  boolean isSuspended() {
    return suspended;
  }

  boolean maySuspend() {
    return !suspended && !setBackUnsampled;
  }

  void suspend() {
    stir(0);
    suspended = true;
    suspensionUnsampled = true;
    lastSuspensionNanos = 0;
  }

  void resume(long toSampleNanos) {
    suspended = false;
    sampleAtNanos = nanos + toSampleNanos;
  }

  boolean maySetBack() {
    return !suspended && !suspensionUnsampled;
  }

  void setWallClock(long byNanos, long toSampleNanos) {
    long unused = machineWallMillis();
    stir(toSampleNanos);
    wallNanos += byNanos;
    if (byNanos < 0) {
      setBackUnsampled = true;
      lastSetBackNanos = -byNanos;
    }
  }

  private void stir(long toSampleNanos) {
    if (!stirred) {
      stirred = true;
      if (isSampled() && !suspended && flaw != Flaw.NO_SAMPLES) {
        // The last sample saw the clocks as they were.
        long unused = seen.wallMillis();
      }
    }
    sampleAtNanos = nanos + Math.min(toSampleNanos, SAMPLE_INTERVAL_NANOS - 1);
  }

  /** The keeper has it from now on. */
  void keep(ActiveGrant grant, long toSampleNanos) {
    kept = grant;
    stirred = true;
    sampleAtNanos = nanos + toSampleNanos;
  }

  void forget(ActiveGrant grant) {
    if (kept == grant) {
      kept = null;
    }
  }

  /** Nothing that is asked for or held rests on what the clocks did until now. */
  void forgetTheUnsampled() {
    if (!suspended) {
      setBackUnsampled = false;
      suspensionUnsampled = false;
    }
  }

  boolean keepsOthers() {
    return keepsOthers;
  }

  private boolean isSampled() {
    return kept != null || keepsOthers;
  }

  /** The time until the next sample that can change something. */
  long worldNanosToSample() {
    if (!stirred || suspended || !isSampled()) {
      return Long.MAX_VALUE;
    }
    long left = sampleAtNanos - nanos;
    return left <= 0 ? 0 : left + left / 500 + 1;
  }

  boolean isSampleDue() {
    return worldNanosToSample() == 0;
  }

  /** As the keeper does it. True: a set-back may be seen. */
  boolean sample() {
    boolean setBack = setBackUnsampled;
    stirred = false;
    setBackUnsampled = false;
    suspensionUnsampled = false;
    if (flaw != Flaw.NO_SAMPLES) {
      long unused = seen.wallMillis();
    }
    return setBack && kept != null;
  }

  /** By how much the engine would find its wall clock ahead if it looked now; it does not. */
  long wallAheadNanos() {
    long ahead = aheadNanos();
    long fallNanos = seenAheadNanos - ahead;
    return ahead + seenSetBackNanos + (fallNanos > MILLIONTHS ? fallNanos : 0);
  }

  private long aheadNanos() {
    return machineWallMillis() * MILLIONTHS - nanos;
  }

  boolean wasJustSetBack() {
    return lastSetBackNanos > 0;
  }

  /** By how much it was set back last, unless that was asked before. */
  long takeLastSetBackNanos() {
    long nanos = lastSetBackNanos;
    lastSetBackNanos = 0;
    return nanos;
  }

  long lastSuspensionNanos() {
    return lastSuspensionNanos;
  }
}
