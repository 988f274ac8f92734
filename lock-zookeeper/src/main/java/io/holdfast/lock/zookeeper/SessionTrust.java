package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import org.apache.zookeeper.ZooKeeper;
import org.jspecify.annotations.Nullable;

/**
 * The time for which the framework's session is sure to live.
 *
 * <p>The leader ends a session its timeout after it last heard of it. A write does not count as
 * hearing: it hears from the reports of the server that the client is connected to, one every half
 * tick, which is a quarter of the timeout at most. So a write that a majority confirmed proves that
 * the session lived, and an earlier request for how long it goes on: it counts from when that was
 * sent, if it was answered a quarter of the timeout before.
 *
 * <p>A request that failed for want of a connection counts at once: of the connection that came
 * later, the leader itself was asked.
 *
 * <p>A reconnect can change the timeout. The least counts, of the time that the proof spans. The
 * decision page zookeeper-trusts-half-the-session has the whole proof.
 *
 * <p>Threads: any.
 */
final class SessionTrust {
  /** No grant is trusted for longer than this part of the timeout. */
  private static final int TRUST_DIVISOR = 2;

  /** A request that was answered this part of the timeout ago was reported to the leader. */
  private static final int REPORTED_DIVISOR = 4;

  /** Who is trusted for less than this part of the timeout does not begin to hold a lock. */
  private static final int BEGIN_DIVISOR = 4;

  /** A session that we have just met was kept alive by the client's own pings, each this part. */
  private static final int PING_DIVISOR = 3;

  /** Signs of life are noted this part of the timeout apart. */
  private static final int GRAIN_DIVISOR = 16;

  /** Without a sign of life for this part of the timeout, one is to be given. */
  private static final int QUIET_DIVISOR = 6;

  private final TimeSource time;
  // All below: under the monitor, and of this session.
  private long session;

  /** In the order of their sending; the first is a timeout old, or the first of the session. */
  private final Deque<Sign> signs = new ArrayDeque<>();

  private @Nullable Moment confirmedAt;
  private long confirmedForNanos;

  /** Its timeout was lowered; before, it was said to live until then, by the monotonic clock. */
  private boolean overdrawn;

  private long saidUntilNanos;

  SessionTrust(TimeSource time) {
    this.time = time;
  }

  /**
   * A request that is about to be sent.
   *
   * @param timeoutNanos the session's; zero: not known, since there never was a connection
   */
  record Asked(ZooKeeper zk, Moment at, long timeoutNanos) {}

  /**
   * A sign of life.
   *
   * @param at when it was sent
   * @param ageNanos the session's age then, counted from its first sign
   * @param answeredNanos the session's age when it was answered
   * @param byLeader whether the leader itself had heard of it by then
   */
  private record Sign(
      Moment at, long timeoutNanos, long ageNanos, long answeredNanos, boolean byLeader) {
    /** A session's age from which on the leader has certainly heard of it. */
    long reportedNanos(long leastTimeoutNanos) {
      return byLeader ? answeredNanos : answeredNanos + leastTimeoutNanos / REPORTED_DIVISOR;
    }

    Sign withTimeout(long lowerNanos) {
      return new Sign(at, lowerNanos, ageNanos, answeredNanos, byLeader);
    }

    /** No session outlives its timeout and a tick: if the wall clock shows more, it was set. */
    long ageNanos(Moment later) {
      return ageNanos + at.nanosUntil(later, timeoutNanos / 2 * 3);
    }
  }

  /** Notes the moment before a request is sent. */
  Asked asking(ZooKeeper zk) {
    return new Asked(zk, Moment.now(time), timeoutNanos(zk));
  }

  private static long timeoutNanos(ZooKeeper zk) {
    return zk.getSessionTimeout() * 1_000_000L;
  }

  /** The request was answered. */
  synchronized void answered(Asked asked) {
    note(asked, Moment.now(time), false);
  }

  /** The request failed for want of a connection. */
  synchronized void disconnected(Asked asked) {
    note(asked, asked.at(), true);
  }

  private void note(Asked asked, Moment answered, boolean byLeader) {
    long now = asked.zk().getSessionId();
    long timeoutNanos = timeoutNanos(asked.zk());
    if (now == 0 || timeoutNanos == 0) {
      return;
    }
    if (asked.timeoutNanos() != 0) {
      timeoutNanos = Math.min(timeoutNanos, asked.timeoutNanos());
    }
    if (now != session) {
      meet(now, asked.at(), timeoutNanos, answered);
      return;
    }
    Sign last = signs.getLast();
    if (timeoutNanos < last.timeoutNanos()) {
      // Noted even if nothing else is.
      signs.removeLast();
      signs.add(last.withTimeout(timeoutNanos));
    }
    long ageNanos = last.ageNanos(asked.at());
    if (ageNanos - last.ageNanos() >= timeoutNanos / GRAIN_DIVISOR) {
      signs.add(new Sign(asked.at(), timeoutNanos, ageNanos, last.ageNanos(answered), byLeader));
      while (signs.size() > 2 && ageNanos - second().ageNanos() >= timeoutNanos) {
        signs.removeFirst();
      }
    }
  }

  private void meet(long newSession, Moment at, long timeoutNanos, Moment answered) {
    forget();
    session = newSession;
    long pingNanos = -timeoutNanos / PING_DIVISOR;
    long answeredNanos = at.nanosUntil(answered);
    signs.add(new Sign(at, timeoutNanos, pingNanos, pingNanos, true));
    signs.add(new Sign(at, timeoutNanos, 0, answeredNanos, false));
  }

  private Sign second() {
    Iterator<Sign> iterator = signs.iterator();
    var unused = iterator.next();
    return iterator.next();
  }

  /**
   * A majority confirmed the request, a write.
   *
   * @return how long the session is sure to live, counted from before the request was sent; zero:
   *     not known
   */
  synchronized Duration confirmed(Asked asked) {
    answered(asked);
    if (signs.isEmpty() || asked.zk().getSessionId() != session) {
      return Duration.ZERO;
    }
    long trustedNanos = trustedNanos(signs.getLast().ageNanos(asked.at()));
    if (confirmedAt == null || asked.at().nanos() - confirmedAt.nanos() >= 0) {
      confirmedAt = asked.at();
      confirmedForNanos = trustedNanos;
    }
    return Duration.ofNanos(trustedNanos);
  }

  /** How much longer a session of that age is sure to live, since it was alive then. */
  private long trustedNanos(long ageNanos) {
    long leastNanos = Long.MAX_VALUE;
    for (Iterator<Sign> newestFirst = signs.descendingIterator(); newestFirst.hasNext(); ) {
      Sign sign = newestFirst.next();
      leastNanos = Math.min(leastNanos, sign.timeoutNanos());
      if (sign.reportedNanos(leastNanos) <= ageNanos) {
        long leftNanos = leastNanos - (ageNanos - sign.ageNanos());
        return Math.max(0, Math.min(leastNanos / TRUST_DIVISOR, leftNanos));
      }
    }
    return 0;
  }

  /**
   * There is a connection again, perhaps to a server with other limits, or of another session: then
   * nothing is known of it yet.
   */
  synchronized void connected(ZooKeeper zk) {
    if (zk.getSessionId() != session) {
      forget();
    }
    long forNanos = timeoutNanos(zk) / TRUST_DIVISOR;
    if (confirmedAt != null && forNanos < confirmedForNanos) {
      long untilNanos = confirmedAt.nanos() + confirmedForNanos;
      // What was said before an earlier lowering may last longer.
      if (!overdrawn || untilNanos - saidUntilNanos > 0) {
        saidUntilNanos = untilNanos;
      }
      confirmedForNanos = forNanos;
      overdrawn = true;
    }
  }

  /**
   * Whether grants are trusted for longer than the session may live, since its timeout was lowered,
   * and no confirmation came. It lives for the new timeout from the reconnect on, which came after
   * the last confirmation.
   */
  synchronized boolean isOverdrawn(ZooKeeper zk, Duration margin) {
    overdrawn = overdrawn && saidUntilNanos - time.nanos() > 0;
    return overdrawn
        && confirmedAt != null
        && confirmedAt.nanosUntil(Moment.now(time)) + margin.toNanos() >= timeoutNanos(zk);
  }

  /** How long the session is sure to live from now on, if no write is confirmed; zero: not sure. */
  synchronized Duration left(ZooKeeper zk) {
    if (confirmedAt == null || zk.getSessionId() != session) {
      return Duration.ZERO;
    }
    long forNanos = Math.min(confirmedForNanos, timeoutNanos(zk) / TRUST_DIVISOR);
    return Duration.ofNanos(Math.max(0, forNanos - confirmedAt.nanosUntil(Moment.now(time))));
  }

  /** Whether that is long enough to begin to hold a lock. */
  static boolean isEnough(ZooKeeper zk, Duration trusted) {
    return trusted.toNanos() >= timeoutNanos(zk) / BEGIN_DIVISOR;
  }

  /** Nothing is known of any session any more. */
  synchronized void forget() {
    session = 0;
    signs.clear();
    confirmedAt = null;
    confirmedForNanos = 0;
    overdrawn = false;
  }

  /** Whether it is time to give a sign of life. */
  synchronized boolean isQuiet(ZooKeeper zk) {
    Sign last = signs.peekLast();
    return last == null
        || zk.getSessionId() != session
        || last.at().nanosUntil(Moment.now(time)) >= timeoutNanos(zk) / QUIET_DIVISOR;
  }
}
