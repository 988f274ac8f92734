package io.holdfast.lock.jdbc;

import io.holdfast.lock.jdbc.dialect.Standing;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * Determines the time between two polls for a waiter's lock. The first waiter in the line polls
 * often if the lock changes hands often, and seldom if it is held for long. The others poll around
 * the time when their turn may come. If the database sends notifications, all poll seldom.
 *
 * <p>Threads: guarded by the poller's monitor.
 */
final class PollPace {
  static final long POLL_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(2);

  /**
   * The longest pause if there are no notifications. Less than the 500 ms after which the client's
   * own connection is checked before its next use, or each poll would cost one statement more.
   */
  static final long POLL_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(400);

  /**
   * The first waiter polls again after the time for which the lock has been held, divided by this.
   */
  private static final int SHARE_OF_HOLD = 16;

  /** The other waiters poll again after the estimated time to their turn, divided by this. */
  private static final int SHARE_OF_TURN = 2;

  /** The same for the second waiter, whose turn is next. */
  private static final int SHARE_OF_TURN_AS_SECOND = 3;

  /**
   * The pause after the first poll if there are notifications, to find a hand-over that did not see
   * the waiter yet.
   */
  private static final long NOTIFIED_FIRST_NANOS = TimeUnit.MILLISECONDS.toNanos(128);

  /** The longest pause if there are notifications: the waiter must also report that it is alive. */
  private static final long NOTIFIED_POLL_NANOS_MAX = TimeUnit.SECONDS.toNanos(1);

  /** The number of polls since it started. */
  int polls;

  private long firstPollAtNanos;
  private int aheadAtFirstPoll;

  /** Starts again, as before the first poll. */
  void restart() {
    polls = 0;
  }

  /**
   * Counts a poll, and returns the pause before the next one, in nanoseconds: at most until the
   * lock's time is over.
   *
   * @param tookNanos the time that the poll took; on a slow network, a part of the pause
   */
  long nextPauseNanos(Standing standing, long now, long tookNanos, boolean notified) {
    if (polls == 0) {
      firstPollAtNanos = now;
      aheadAtFirstPoll = standing.ahead();
    }
    polls++;
    long endMicros = standing.row().firstEndMicros();
    long endNanos = endMicros > 0 ? TimeUnit.MICROSECONDS.toNanos(endMicros + 1) : POLL_NANOS_MAX;
    long pauseNanos = notified ? notifiedNanos() : unnotifiedNanos(standing, now);
    long leftNanos = pauseNanos - Math.max(0, tookNanos - POLL_NANOS_MIN);
    return Math.min(endNanos, Math.max(POLL_NANOS_MIN, leftNanos));
  }

  private long notifiedNanos() {
    return polls == 1 ? NOTIFIED_FIRST_NANOS : NOTIFIED_POLL_NANOS_MAX;
  }

  private long unnotifiedNanos(Standing standing, long now) {
    long heldNanos = TimeUnit.MICROSECONDS.toNanos(standing.row().sinceMicros());
    if (standing.ahead() == 0) {
      return jittered(clamp(heldNanos / SHARE_OF_HOLD));
    }
    // One more than the moves seen so far, since the next may be about to happen: better early than
    // late. At least 1, since an insert that becomes visible late can raise the number of waiters
    // ahead.
    int moves = Math.max(0, aheadAtFirstPoll - standing.ahead()) + 1;
    long paceNanos = polls == 1 ? heldNanos : (now - firstPollAtNanos) / moves;
    long turnNanos = Math.max(heldNanos, standing.ahead() * Math.max(paceNanos, POLL_NANOS_MIN));
    // The nearer its turn, the more often it polls.
    return clamp(turnNanos / (standing.ahead() == 1 ? SHARE_OF_TURN_AS_SECOND : SHARE_OF_TURN));
  }

  private static long clamp(long nanos) {
    return Math.max(POLL_NANOS_MIN, Math.min(POLL_NANOS_MAX, nanos));
  }

  /** Varies a pause at random, or else clients that began together would collide for ever. */
  private static long jittered(long nanos) {
    return nanos - ThreadLocalRandom.current().nextLong(nanos / 8 + 1);
  }
}
