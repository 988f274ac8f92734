package io.holdfast.lock.internal.grant;

import io.holdfast.lock.internal.time.Nanos;
import io.holdfast.lock.spi.TimeSource;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The times at which the store is asked about a grant, and whether it may be asked: not while a
 * guard has the grant's row locked, not twice at once, and not once its holder has closed it.
 *
 * <p>A fixed lease is verified, never extended: when it is in doubt, and where the store grants
 * less than its TTL at once (its session may end sooner), in time to keep it to the end.
 *
 * <p>Threads: any. Nothing blocks but {@link #suspend}.
 */
public final class RenewalSchedule {
  private static final int PERIODS_PER_TERM = 3;
  private static final int RETRIES_PER_PERIOD = 4;

  private static final double JITTER = 0.1;

  /**
   * The part of a period within which a grant that is nearly due goes along with one that is: half
   * of it, so that of two rounds one is always near enough to the other, and all leases of a group
   * end up in one round; and what jitter adds, or the later part of each round would stay behind
   * for ever and become a round again.
   */
  private static final double GOES_ALONG = 0.5 + JITTER;

  /** A store that answers for all but this part of what is left means all of it. */
  private static final int PART_ONLY_DIVISOR = 50;

  private static final long PERIOD_NANOS_MIN = 1_000_000;

  /** Within that, short sections are over and need not be confirmed at all. */
  private static final long UNCONFIRMED_NANOS = 50_000_000;

  private static final AtomicIntegerFieldUpdater<RenewalSchedule> STATE =
      AtomicIntegerFieldUpdater.newUpdater(RenewalSchedule.class, "state");

  private static final AtomicReferenceFieldUpdater<RenewalSchedule, @Nullable Awaiting> AWAITING =
      AtomicReferenceFieldUpdater.newUpdater(RenewalSchedule.class, Awaiting.class, "awaiting");

  /** Its holder closed it: no more. */
  private static final int STOPPED = 1;

  /** It is being asked about. */
  private static final int IN_FLIGHT = 1 << 1;

  /** It was due while suspended. */
  private static final int SKIPPED = 1 << 2;

  /** One guard that suspends it; the bits from here on count them. */
  private static final int SUSPENSION = 1 << 3;

  private final TimeSource time;
  private final boolean renewed;
  private final long ttlNanos;

  /** The time at which a fixed lease ends in any case. */
  private volatile long fixedEndNanos;

  /** When the question was sent that was answered last. */
  private volatile long askedAtNanos;

  private volatile long periodNanos;
  private volatile long askAtNanos;
  private volatile int state;

  private volatile boolean unconfirmed;

  /** Threads that wait for the end of the flight; the last to come is the first. */
  private volatile @Nullable Awaiting awaiting;

  private record Awaiting(Thread thread, @Nullable Awaiting next) {}

  RenewalSchedule(
      TimeSource time, boolean renewed, long ttlNanos, long askedAtNanos, long validForNanos) {
    this.time = time;
    this.renewed = renewed;
    this.ttlNanos = ttlNanos;
    this.fixedEndNanos = askedAtNanos + ttlNanos;
    answered(askedAtNanos, validForNanos);
  }

  /** Whether the store extends it, or only tells how it stands. */
  public boolean extendsLease() {
    return renewed;
  }

  /** The time at which it is due. */
  public long askAtNanos() {
    return askAtNanos;
  }

  /** Whether it is due, or so nearly due that it goes along with another that is. */
  public boolean goesAlong(long nowNanos) {
    return askAtNanos - nowNanos <= (long) (periodNanos * GOES_ALONG);
  }

  /** Whether it is due. */
  public boolean isDue(long nowNanos) {
    return askAtNanos - nowNanos <= 0;
  }

  /** Whether its holder closed it. */
  public boolean isStopped() {
    return (state & STOPPED) != 0;
  }

  /** Whether a guard keeps it from being asked about. */
  public boolean isSuspended() {
    return state >= SUSPENSION;
  }

  /** Whether it is being asked about. */
  public boolean isInFlight() {
    return (state & IN_FLIGHT) != 0;
  }

  /** Whether it may be asked about now; if so, {@link #endFlight} must follow. */
  public boolean beginFlight() {
    while (true) {
      int now = state;
      if ((now & (STOPPED | IN_FLIGHT)) != 0) {
        return false;
      }
      boolean suspended = now >= SUSPENSION;
      if (STATE.compareAndSet(this, now, now | (suspended ? SKIPPED : IN_FLIGHT))) {
        return !suspended;
      }
    }
  }

  /** It is no longer being asked about. Idempotent. */
  public void endFlight() {
    change(0, IN_FLIGHT);
    for (Awaiting next = AWAITING.getAndSet(this, null); next != null; next = next.next()) {
      LockSupport.unpark(next.thread());
    }
  }

  /**
   * The store answered a question that was sent then. An answer can be good for less than the TTL,
   * where the session may end sooner.
   */
  public void answered(long askedAtNanos, long validForNanos) {
    unconfirmed = false;
    this.askedAtNanos = askedAtNanos;
    if (renewed || isPartOnly(askedAtNanos, validForNanos)) {
      periodNanos = period(Math.min(ttlNanos, validForNanos));
      askAtNanos = askedAtNanos + jittered(periodNanos);
    } else {
      periodNanos = period(ttlNanos);
      askAtNanos = askedAtNanos + Nanos.FOREVER;
    }
  }

  /** The store gave a fixed lease more time: to that end, and answers for so long at once. */
  void extended(long askedAtNanos, long endNanos, long validForNanos) {
    fixedEndNanos = Nanos.later(fixedEndNanos, endNanos);
    answered(askedAtNanos, validForNanos);
  }

  /** Whether a fixed lease ends before its time unless it is confirmed once more. */
  private boolean isPartOnly(long askedAtNanos, long validForNanos) {
    long leftNanos = fixedEndNanos - askedAtNanos;
    return leftNanos - validForNanos > leftNanos / PART_ONLY_DIVISOR;
  }

  /**
   * The store gave it without being asked, and not for the whole TTL: to be asked for that soon.
   */
  public void unconfirmed() {
    unconfirmed = true;
    askAtNanos = time.nanos() + Math.min(UNCONFIRMED_NANOS, periodNanos / RETRIES_PER_PERIOD);
  }

  /** Whether it is {@link #unconfirmed}, and no question has been answered since. */
  public boolean isUnconfirmed() {
    return unconfirmed;
  }

  /** The store did not answer: again soon. */
  public void unanswered() {
    askAtNanos = time.nanos() + jittered(periodNanos / RETRIES_PER_PERIOD);
  }

  /** Something asks for doubt: at once. Any time that has passed will do, so no clock can fail. */
  public void doubted() {
    askAtNanos = askedAtNanos;
  }

  /** No more: its holder closed it. */
  public void stop() {
    change(STOPPED, 0);
  }

  /** Not until {@link #resume}; waits for what is in flight, up to that long. */
  public void suspend(long timeoutNanos) {
    while (true) {
      int now = state;
      if (STATE.compareAndSet(this, now, now + SUSPENSION)) {
        break;
      }
    }
    awaitFlight(timeoutNanos);
  }

  /** Waits for what is in flight, up to that long; an interrupt is kept for later. */
  public void awaitFlight(long timeoutNanos) {
    if (!isInFlight()) {
      return;
    }
    long untilNanos = time.nanos() + timeoutNanos;
    boolean interrupted = false;
    Awaiting first;
    do {
      first = awaiting;
    } while (!AWAITING.compareAndSet(this, first, new Awaiting(Thread.currentThread(), first)));
    // A flight that ended before we were in the list unparks nobody.
    for (long left = timeoutNanos; left > 0 && isInFlight(); left = untilNanos - time.nanos()) {
      time.park(this, left);
      interrupted |= Thread.interrupted();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Ends one {@link #suspend}.
   *
   * @return whether it was due meanwhile, and may be asked about now
   */
  public boolean resume() {
    while (true) {
      int now = state;
      int next = now - SUSPENSION;
      boolean last = next < SUSPENSION;
      if (STATE.compareAndSet(this, now, last ? next & ~SKIPPED : next)) {
        return last && (now & SKIPPED) != 0;
      }
    }
  }

  private void change(int add, int remove) {
    while (true) {
      int now = state;
      if (STATE.compareAndSet(this, now, (now | add) & ~remove)) {
        return;
      }
    }
  }

  private static long period(long termNanos) {
    return Math.max(PERIOD_NANOS_MIN, termNanos / PERIODS_PER_TERM);
  }

  private static long jittered(long nanos) {
    return (long) (nanos * (1 + JITTER * (2 * ThreadLocalRandom.current().nextDouble() - 1)));
  }
}
