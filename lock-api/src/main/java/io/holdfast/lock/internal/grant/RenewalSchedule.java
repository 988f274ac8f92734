package io.holdfast.lock.internal.grant;

import io.holdfast.lock.internal.time.Nanos;
import io.holdfast.lock.spi.TimeSource;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Says when the store is to be asked about a grant, and whether it may be asked: not while a guard
 * has the grant's row locked, not twice at once, and not after the holder has closed the lease.
 *
 * <p>A fixed lease is never renewed, only verified: when it is in doubt, and before the time that
 * the store confirmed is over, if that ends before the lease (since the session may end sooner).
 *
 * <p>Threads: any. Only {@link #suspend} and {@link #awaitFlight} block.
 */
public final class RenewalSchedule {
  private static final int PERIODS_PER_TERM = 3;
  private static final int RETRIES_PER_PERIOD = 4;

  private static final double JITTER = 0.1;

  /**
   * The fraction of a renewal period within which a grant that is nearly due is renewed along with
   * one of its group that is due. With half a period, one of any two rounds is near enough to join
   * the other, so all leases of a group end up in one round. Jitter is added, or else the leases
   * that it delays most would form a round of their own.
   */
  private static final double GOES_ALONG = 0.5 + JITTER;

  /**
   * A store that confirms nearly all of the time left counts as having confirmed all of it. What
   * may be missing is the time left divided by this.
   */
  private static final int PART_ONLY_DIVISOR = 50;

  private static final long PERIOD_NANOS_MIN = 1_000_000;

  /**
   * The delay before the first renewal of a grant that the store handed over. Short critical
   * sections are over by then and need no request at all.
   */
  private static final long HANDED_OVER_NANOS = 50_000_000;

  private final TimeSource time;
  private final boolean renewed;
  private final long ttlNanos;

  /** The time at which a fixed lease ends, unless it is extended. */
  private volatile long fixedEndNanos;

  /** The time at which the last answered request was sent. */
  private volatile long askedAtNanos;

  private volatile long periodNanos;

  /** The time at which the next request is due. */
  private volatile long askAtNanos;

  private volatile boolean handedOver;

  // Written under this object's monitor

  /** Whether the lease was closed, dropped or lost, and the store is not asked again. */
  private volatile boolean stopped;

  /** Whether a request is under way. */
  private volatile boolean inFlight;

  /** The number of guards that suspend requests. */
  private volatile int suspensions;

  /** Whether a request became due while suspended. */
  private boolean skipped;

  /** The threads that wait for the request under way to end; the latest one first. */
  private @Nullable Awaiting awaiting;

  private record Awaiting(Thread thread, @Nullable Awaiting next) {}

  RenewalSchedule(
      TimeSource time, boolean renewed, long ttlNanos, long askedAtNanos, long validForNanos) {
    this.time = time;
    this.renewed = renewed;
    this.ttlNanos = ttlNanos;
    this.fixedEndNanos = askedAtNanos + ttlNanos;
    answered(askedAtNanos, validForNanos);
  }

  /** Whether a request renews the grant; otherwise it only verifies it. */
  public boolean extendsLease() {
    return renewed;
  }

  /** Returns the time at which the next request is due. */
  public long askAtNanos() {
    return askAtNanos;
  }

  /** Whether a request is due, or so nearly due that it is made along with another that is. */
  public boolean goesAlong(long nowNanos) {
    return askAtNanos - nowNanos <= (long) (periodNanos * GOES_ALONG);
  }

  /** Whether a request is due. */
  public boolean isDue(long nowNanos) {
    return askAtNanos - nowNanos <= 0;
  }

  /** Whether the lease was closed, dropped or lost. */
  public boolean isStopped() {
    return stopped;
  }

  /** Whether a guard prevents requests. */
  public boolean isSuspended() {
    return suspensions > 0;
  }

  /** Whether a request is under way. */
  public boolean isInFlight() {
    return inFlight;
  }

  /** Begins a request if one may be made now; if so, {@link #endFlight} must follow. */
  public synchronized boolean beginFlight() {
    if (stopped || inFlight) {
      return false;
    } else if (suspensions > 0) {
      skipped = true;
      return false;
    }
    inFlight = true;
    return true;
  }

  /** Ends a request. Idempotent. */
  public synchronized void endFlight() {
    inFlight = false;
    for (Awaiting next = awaiting; next != null; next = next.next()) {
      LockSupport.unpark(next.thread());
    }
    awaiting = null;
  }

  /**
   * Takes in an answer. The store may promise less than the TTL, if the session may end sooner.
   *
   * @param askedAtNanos the time at which the request was sent
   * @param validForNanos the time that the store promised, counted from the request
   */
  public void answered(long askedAtNanos, long validForNanos) {
    handedOver = false;
    this.askedAtNanos = askedAtNanos;
    if (renewed || isPartOnly(askedAtNanos, validForNanos)) {
      periodNanos = period(Math.min(ttlNanos, validForNanos));
      askAtNanos = askedAtNanos + jittered(periodNanos);
    } else {
      periodNanos = period(ttlNanos);
      askAtNanos = askedAtNanos + Nanos.FOREVER;
    }
  }

  /**
   * Takes in that the store extended a fixed lease until {@code endNanos}, and has confirmed
   * {@code validForNanos} of that so far.
   */
  void extended(long askedAtNanos, long endNanos, long validForNanos) {
    fixedEndNanos = Nanos.later(fixedEndNanos, endNanos);
    answered(askedAtNanos, validForNanos);
  }

  /** Whether a fixed lease ends too early unless it is confirmed once more. */
  private boolean isPartOnly(long askedAtNanos, long validForNanos) {
    long leftNanos = fixedEndNanos - askedAtNanos;
    return leftNanos - validForNanos > leftNanos / PART_ONLY_DIVISOR;
  }

  /**
   * Takes in that the store handed the grant over, for less than its TTL: its first renewal is due
   * soon.
   */
  public void handedOver() {
    handedOver = true;
    askAtNanos = time.nanos() + Math.min(HANDED_OVER_NANOS, periodNanos / RETRIES_PER_PERIOD);
  }

  /** Whether the store handed the grant over, and has answered no request since. */
  public boolean isHandedOver() {
    return handedOver;
  }

  /** Takes in that the store did not answer: the next request is due soon. */
  public void unanswered() {
    askAtNanos = time.nanos() + jittered(periodNanos / RETRIES_PER_PERIOD);
  }

  /**
   * Makes a request due at once. Uses a time in the past that is known already, so that no clock is
   * read that could fail.
   */
  public void askAtOnce() {
    askAtNanos = askedAtNanos;
  }

  /** Ends all requests: the lease was closed, dropped or lost. */
  public synchronized void stop() {
    stopped = true;
  }

  /**
   * Prevents requests until {@link #resume}, and waits for the one under way, if any, up to the
   * timeout.
   */
  public void suspend(long timeoutNanos) {
    synchronized (this) {
      suspensions++;
    }
    awaitFlight(timeoutNanos);
  }

  /** Waits for the request under way, if any, up to the timeout; an interrupt is kept for later. */
  public void awaitFlight(long timeoutNanos) {
    if (!inFlight) {
      return;
    }
    long untilNanos = time.nanos() + timeoutNanos;
    boolean interrupted = false;
    synchronized (this) {
      awaiting = new Awaiting(Thread.currentThread(), awaiting);
    }
    // Looks before it parks: a request that ended before this thread was listed does not unpark it.
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
   * @return whether a request became due meanwhile and may be made now
   */
  public synchronized boolean resume() {
    suspensions--;
    if (suspensions > 0) {
      return false;
    }
    boolean wasDue = skipped;
    skipped = false;
    return wasDue;
  }

  private static long period(long termNanos) {
    return Math.max(PERIOD_NANOS_MIN, termNanos / PERIODS_PER_TERM);
  }

  private static long jittered(long nanos) {
    return (long) (nanos * (1 + JITTER * (2 * ThreadLocalRandom.current().nextDouble() - 1)));
  }
}
