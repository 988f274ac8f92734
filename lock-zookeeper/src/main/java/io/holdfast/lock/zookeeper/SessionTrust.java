package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import org.apache.zookeeper.ZooKeeper;
import org.jspecify.annotations.Nullable;

/**
 * Determines the time for which the framework's session is certain to live.
 *
 * <p>The leader ends a session when it has not heard of it for the timeout. A write by itself does
 * not make it keep a session longer: it hears of sessions only from the reports of the server that
 * the client is connected to, one every half tick, which is at most a quarter of the timeout. So a
 * write that a majority confirmed proves that the session was alive then, and an earlier request, a
 * <em>sign of life</em>, proves for how long it will go on: the time counts from when the sign was
 * sent, provided that it was answered at least a quarter of the timeout before the write.
 *
 * <p>A request that failed for lack of a connection is a sign, too, and need only have been seen to
 * fail before the write: the write needed a new connection, and the leader itself was asked whether
 * the session may have it.
 *
 * <p>Of a session that is new to us we know only that the client drops a connection on which it has
 * heard nothing for two thirds of the timeout.
 *
 * <p>A reconnect can change the timeout; the least timeout within the time that the proof spans is
 * used. The decision page zookeeper-trusts-half-the-session has the formula and its assumptions.
 *
 * <p>Threads: any.
 */
final class SessionTrust {
  /** A grant is trusted for at most the timeout divided by this. */
  private static final int TRUST_DIVISOR = 2;

  /**
   * A request that was answered at least the timeout divided by this ago has been reported to the
   * leader.
   */
  private static final int REPORTED_DIVISOR = 4;

  /**
   * Until the leader has heard of our first request, a grant is trusted for at most the timeout
   * divided by this: that much is left of a session even if the client used it as seldom as its
   * connection bears.
   */
  private static final int NEW_TRUST_DIVISOR = 4;

  /**
   * The sign that stands for the time before our first request counts as the timeout divided by
   * this earlier. So the trust above is given in full for the first quarter of the timeout, and a
   * slow first answer lowers it.
   */
  private static final int NEW_SIGN_DIVISOR = 2;

  /**
   * A holder may start only if it is trusted for at least the timeout divided by this. That is less
   * than the trust in a new session, or else no holder could start in one.
   */
  private static final int BEGIN_DIVISOR = 8;

  /** The timeout divided by this is the least time between two signs of life that are recorded. */
  private static final int GRAIN_DIVISOR = 16;

  /** After the timeout divided by this without a sign of life, one must be given. */
  private static final int QUIET_DIVISOR = 6;

  private final TimeSource time;
  // All fields below are guarded by the monitor, and are about the session with this id.
  private long session;

  /**
   * The signs of life in the order in which they were sent; the first one is at least a timeout
   * old, or the first of the session.
   */
  private final Deque<Sign> signs = new ArrayDeque<>();

  /**
   * The time at which the last confirmed write was sent, and for how long the session is trusted
   * from then.
   */
  private @Nullable Moment confirmedAt;

  private long confirmedForNanos;

  /**
   * Whether the timeout was lowered after grants had been told that the session lives until
   * {@code saidUntilNanos}.
   */
  private boolean overdrawn;

  private long saidUntilNanos;

  /** The timeout that was agreed on at the last connection; zero: none. */
  private long agreedTimeoutNanos;

  SessionTrust(TimeSource time) {
    this.time = time;
  }

  /**
   * A request that is about to be sent: its handle, the time, and the session's timeout.
   *
   * @param timeoutNanos the session's timeout; zero if it is not known, since there never was a
   *     connection
   */
  record Request(ZooKeeper zk, Moment at, long timeoutNanos) {}

  /**
   * The time for which a session is certain to live if no more is heard of it.
   *
   * @param lives zero: nothing is certain
   * @param fromNanos the monotonic clock's reading from which it counts
   */
  record Lifetime(Duration lives, long fromNanos) {
    /** Returns it as counted from another moment. */
    Duration countedFrom(long nanos) {
      return lives.plusNanos(fromNanos - nanos);
    }
  }

  /**
   * A sign of life.
   *
   * @param at the time at which it was sent; for the sign that stands for the time before our first
   *     request, that of this request
   * @param ageNanos the session's age at that time, counted from our first request; negative for
   *     the sign that stands for the time before that
   * @param answeredAgeNanos the session's age when the sign was answered, or was seen to have
   *     failed
   * @param countsAtOnce whether a write that is sent after {@code answeredAgeNanos} proves that the
   *     leader heard of the session after this sign; otherwise only one that is sent a quarter of
   *     the timeout later does
   */
  private record Sign(
      Moment at, long timeoutNanos, long ageNanos, long answeredAgeNanos, boolean countsAtOnce) {
    /** Returns the session's age from which on the leader has certainly heard of this sign. */
    long reportedAgeNanos(long leastTimeoutNanos) {
      return answeredAgeNanos + (countsAtOnce ? 0 : leastTimeoutNanos / REPORTED_DIVISOR);
    }

    /**
     * Returns the session's age at a later moment. A session that is not heard from ends within its
     * timeout and a tick; so if the wall clock ran ahead by more, it was adjusted. For an earlier
     * moment the age is too high if the wall clock was set back in between.
     */
    long ageNanos(Moment later) {
      return ageNanos + at.nanosUntil(later, timeoutNanos / 2 * 3);
    }
  }

  /** Returns a request that is about to be sent, at this moment. */
  Request request(ZooKeeper zk) {
    return new Request(zk, Moment.now(time), timeoutNanos(zk));
  }

  private static long timeoutNanos(ZooKeeper zk) {
    return zk.getSessionTimeout() * 1_000_000L;
  }

  /** Notes that the request was answered. */
  synchronized void noteAnswered(Request request) {
    note(request, Moment.now(time), false);
  }

  /** Notes that the request failed for lack of a connection. */
  synchronized void noteDisconnected(Request request) {
    note(request, Moment.now(time), true);
  }

  private void note(Request request, Moment answered, boolean failed) {
    long current = request.zk().getSessionId();
    long timeoutNanos = timeoutNanos(request.zk());
    if (current == 0 || timeoutNanos == 0) {
      return;
    }
    if (request.timeoutNanos() != 0) {
      timeoutNanos = Math.min(timeoutNanos, request.timeoutNanos());
    }
    if (current != session) {
      meet(current, request.at(), timeoutNanos, answered);
      return;
    }
    Sign last = signs.getLast();
    if (timeoutNanos < last.timeoutNanos()) {
      // Recorded even if it came soon after the last one.
      signs.removeLast();
      signs.add(new Sign(
          last.at(), timeoutNanos, last.ageNanos(), last.answeredAgeNanos(), last.countsAtOnce()));
    }
    long ageNanos = last.ageNanos(request.at());
    if (ageNanos - last.ageNanos() >= timeoutNanos / GRAIN_DIVISOR) {
      signs.add(new Sign(request.at(), timeoutNanos, ageNanos, last.ageNanos(answered), failed));
      // Of the signs that are at least a timeout old, the newest stays first.
      Sign first = signs.removeFirst();
      while (ageNanos - signs.getFirst().ageNanos() >= timeoutNanos) {
        first = signs.removeFirst();
      }
      signs.addFirst(first);
    }
  }

  /** Begins to note the signs of a session that is new to us. */
  private void meet(long newSession, Moment at, long timeoutNanos, Moment answered) {
    forget();
    session = newSession;
    long beforeNanos = -timeoutNanos / NEW_SIGN_DIVISOR;
    long answeredAgeNanos = at.nanosUntil(answered);
    signs.add(new Sign(at, timeoutNanos, beforeNanos, beforeNanos, true));
    signs.add(new Sign(at, timeoutNanos, 0, answeredAgeNanos, false));
  }

  /**
   * Notes that a majority confirmed the request, which was a write.
   *
   * @return for how long the session is certain to live, counted from before the request was sent
   */
  synchronized Lifetime noteConfirmed(Request request) {
    noteAnswered(request);
    if (signs.isEmpty() || request.zk().getSessionId() != session) {
      return new Lifetime(Duration.ZERO, request.at().nanos());
    }
    long trustedNanos = trustedNanos(signs.getLast().ageNanos(request.at()));
    noteSession(request.zk()); // Before what was said under a longer timeout is replaced.
    if (confirmedAt == null || request.at().nanos() - confirmedAt.nanos() >= 0) {
      confirmedAt = request.at();
      confirmedForNanos = trustedNanos;
    }
    return new Lifetime(Duration.ofNanos(trustedNanos), request.at().nanos());
  }

  /** Returns how much longer a session is certain to live that was alive at that age. */
  private long trustedNanos(long ageNanos) {
    long leastNanos = Long.MAX_VALUE;
    for (Iterator<Sign> newestFirst = signs.descendingIterator(); newestFirst.hasNext(); ) {
      Sign sign = newestFirst.next();
      leastNanos = Math.min(leastNanos, sign.timeoutNanos());
      if (sign.reportedAgeNanos(leastNanos) <= ageNanos) {
        long leftNanos = leastNanos - (ageNanos - sign.ageNanos());
        int divisor = sign.ageNanos() < 0 ? NEW_TRUST_DIVISOR : TRUST_DIVISOR;
        return Math.max(0, Math.min(leastNanos / divisor, leftNanos));
      }
    }
    return 0;
  }

  /**
   * Notes the handle's current session and timeout. If the session is another than before, all that
   * was known is forgotten.
   */
  synchronized void noteSession(ZooKeeper zk) {
    if (zk.getSessionId() != session) {
      forget();
    }
    agreedTimeoutNanos = timeoutNanos(zk);
    long forNanos = agreedTimeoutNanos / TRUST_DIVISOR;
    if (confirmedAt != null && forNanos < confirmedForNanos) {
      long untilNanos = confirmedAt.nanos() + confirmedForNanos;
      // What grants were told before an earlier lowering may reach further.
      if (!overdrawn || untilNanos - saidUntilNanos > 0) {
        saidUntilNanos = untilNanos;
      }
      confirmedForNanos = forNanos;
      overdrawn = true;
    }
  }

  /**
   * Whether grants were promised more time than the session may have, because its timeout was
   * lowered, and nothing was confirmed for nearly as long as the new timeout.
   */
  synchronized boolean isOverdrawn(Duration margin) {
    return overdrawn
        && saidUntilNanos - time.nanos() > 0
        && confirmedAt != null
        && confirmedAt.nanosUntil(Moment.now(time)) + margin.toNanos() >= agreedTimeoutNanos;
  }

  /** Returns for how long the session is certain to live from now on. */
  synchronized Lifetime left(ZooKeeper zk) {
    Moment now = Moment.now(time);
    long leftNanos = 0;
    if (confirmedAt != null && zk.getSessionId() == session) {
      long forNanos = Math.min(confirmedForNanos, timeoutNanos(zk) / TRUST_DIVISOR);
      leftNanos = Math.max(0, forNanos - confirmedAt.nanosUntil(now));
    }
    return new Lifetime(Duration.ofNanos(leftNanos), now.nanos());
  }

  /** Whether that time is long enough for a holder to start. */
  static boolean isEnough(ZooKeeper zk, Lifetime trusted) {
    return trusted.lives().toNanos() >= timeoutNanos(zk) / BEGIN_DIVISOR;
  }

  /** Makes the failure where the session is not certain to live for long enough. */
  static StoreException outOfTouch() {
    return StoreException.unanswered(
        "The session was out of touch with the servers for nearly as long as it lasts, and may end"
            + " at any moment; in a quarter of its timeout more is known",
        null);
  }

  /** Forgets all that is known about the session. */
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
