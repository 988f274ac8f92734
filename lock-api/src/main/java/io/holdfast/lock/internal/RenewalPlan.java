package io.holdfast.lock.internal;

import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * When the store is to be asked about a tenure next, and whether it may be: not while a guard has
 * the grant's row locked, not twice at once, and not once its holder has closed it.
 *
 * <p>A fixed lease is verified, never extended: when it is in doubt, and where the store grants
 * less than its TTL at once (its session may end sooner), in time to keep it to the end.
 *
 * <p>Threads: any.
 */
final class RenewalPlan {
  private static final int PERIODS_PER_TERM = 3;
  private static final int RETRIES_PER_PERIOD = 4;

  private static final double JITTER = 0.1;

  /**
   * What is due within this part of a period goes along: half of it, so that of two rounds one is
   * always near enough to the other, and all leases of a group end up in one round; and what jitter
   * adds, or the later part of each round would stay behind for ever and become a round again.
   */
  private static final double GOES_ALONG = 0.5 + JITTER;

  /** A store that answers for all but this part of what is left means all of it. */
  private static final int PART_ONLY_DIVISOR = 50;

  private static final long PERIOD_NANOS_MIN = 1_000_000;

  /** Within that, short sections are over and need not be confirmed at all. */
  private static final long UNCONFIRMED_NANOS = 50_000_000;

  private final TimeSource time;
  private final boolean renewed;
  private final long ttlNanos;

  /** When a fixed lease ends in any case. */
  private final long fixedEndNanos;

  private volatile long periodNanos;
  private volatile long askAtNanos;

  private final ReentrantLock mutex = new ReentrantLock();

  /** Guarded by the mutex. */
  private int suspensions;

  /** Guarded by the mutex. */
  private boolean stopped;

  /** Written under the mutex. */
  private volatile boolean inFlight;

  /** Wait for the end of the flight; guarded by the mutex. */
  private final List<Thread> waiting = new ArrayList<>(0);

  RenewalPlan(
      TimeSource time, boolean renewed, Duration ttl, long askedAtNanos, long validForNanos) {
    this.time = time;
    this.renewed = renewed;
    this.ttlNanos = Nanos.of(ttl);
    this.fixedEndNanos = askedAtNanos + ttlNanos;
    this.periodNanos = period(ttlNanos);
    answered(askedAtNanos, validForNanos);
  }

  /** Whether the store extends it, or only tells how it stands. */
  boolean extendsLease() {
    return renewed;
  }

  long askAtNanos() {
    return askAtNanos;
  }

  /** Whether it is due, or so nearly due that it goes along with another that is. */
  boolean goesAlong(long nowNanos) {
    return askAtNanos - nowNanos <= (long) (periodNanos * GOES_ALONG);
  }

  /** Whether it is being asked about. */
  boolean isInFlight() {
    return inFlight;
  }

  /** Whether it may be asked about now; if so, {@link #endFlight} must follow. */
  boolean beginFlight() {
    mutex.lock();
    try {
      if (stopped || suspensions > 0 || inFlight) {
        return false;
      }
      inFlight = true;
      return true;
    } finally {
      mutex.unlock();
    }
  }

  void endFlight() {
    mutex.lock();
    try {
      inFlight = false;
      waiting.forEach(LockSupport::unpark);
      waiting.clear();
    } finally {
      mutex.unlock();
    }
  }

  /**
   * The store answered a question that was sent then. An answer can be good for less than the TTL,
   * where the session may end sooner.
   */
  void answered(long askedAtNanos, long validForNanos) {
    if (renewed || isPartOnly(askedAtNanos, validForNanos)) {
      periodNanos = period(Math.min(ttlNanos, validForNanos));
      askAtNanos = askedAtNanos + jittered(periodNanos);
    } else {
      askAtNanos = askedAtNanos + Nanos.FOREVER;
    }
  }

  /** Whether a fixed lease ends before its time unless it is confirmed once more. */
  private boolean isPartOnly(long askedAtNanos, long validForNanos) {
    long leftNanos = fixedEndNanos - askedAtNanos;
    return leftNanos - validForNanos > leftNanos / PART_ONLY_DIVISOR;
  }

  /**
   * The store gave it without being asked, and not for the whole TTL: to be asked for that soon.
   */
  void unconfirmed() {
    askAtNanos = time.nanos() + Math.min(UNCONFIRMED_NANOS, periodNanos / RETRIES_PER_PERIOD);
  }

  /** The store did not answer: again soon. */
  void unanswered() {
    askAtNanos = time.nanos() + jittered(periodNanos / RETRIES_PER_PERIOD);
  }

  /** Something asks for doubt: at once. */
  void doubted() {
    askAtNanos = time.nanos();
  }

  /** No more: its holder closed it. */
  void stop() {
    mutex.lock();
    try {
      stopped = true;
    } finally {
      mutex.unlock();
    }
  }

  /** Not until {@link #resume}; waits for what is in flight, up to that long. */
  void suspend(long timeoutNanos) {
    mutex.lock();
    try {
      suspensions++;
    } finally {
      mutex.unlock();
    }
    long untilNanos = time.nanos() + timeoutNanos;
    boolean interrupted = false;
    for (long left = timeoutNanos; left > 0 && awaitsFlight(); left = untilNanos - time.nanos()) {
      time.park(this, left);
      interrupted |= Thread.interrupted();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  void resume() {
    mutex.lock();
    try {
      suspensions--;
    } finally {
      mutex.unlock();
    }
  }

  private boolean awaitsFlight() {
    mutex.lock();
    try {
      if (inFlight && !waiting.contains(Thread.currentThread())) {
        waiting.add(Thread.currentThread());
      }
      return inFlight;
    } finally {
      mutex.unlock();
    }
  }

  private static long period(long termNanos) {
    return Math.max(PERIOD_NANOS_MIN, termNanos / PERIODS_PER_TERM);
  }

  private static long jittered(long nanos) {
    return (long) (nanos * (1 + JITTER * (2 * ThreadLocalRandom.current().nextDouble() - 1)));
  }
}
