package io.holdfast.lock.consul.fair;

import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.http.LongPoll;
import io.holdfast.lock.consul.line.Line;
import io.holdfast.lock.consul.line.LineCleanup;
import io.holdfast.lock.consul.line.Mark;
import io.holdfast.lock.consul.session.Attempt;
import io.holdfast.lock.consul.session.ConsulGrant;
import io.holdfast.lock.consul.session.Session;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A place in a line that is not the first. It hears of the end of the attempt before it, by one
 * long poll on that one's key, so that a release wakes one waiter and not all.
 *
 * <p>If that attempt was the first, its end makes this one the first: nobody comes before. Then the
 * long poll's answer is the grant, and nothing more is asked, as long as the session is sure to
 * live.
 *
 * <p>A key that says so proves that its attempt is over. One whose session has ended (it ran out,
 * was destroyed, its server left) proves nothing: its holder may go on until the session's TTL is
 * over, so {@link LineCleanup} lets this waiter start no earlier. Nor does one that merely
 * disappeared (a hand deleted it, a snapshot was restored): this waiter remembers every place
 * before its own, since those in between may leave without ever having had the lock. A place whose
 * key says that it had the lock has waited for all before it, and ends the doubts about them.
 */
public final class ConsulTicket implements Ticket {
  private final ConsulStore store;
  private final Attempt attempt;
  private final Runnable wakeUp;
  private final Duration recheckAfter;
  private volatile @Nullable String holder;

  // The waiting thread's own.
  private @Nullable PlaceAhead longPoll;

  /** The places before this one, as the line was last read. */
  private List<Line.Place> ahead = List.of();

  private long doubtUntilNanos;

  /** The last place whose holder may go on until then. */
  private long doubtedNumber;

  private boolean granted;

  /** The line as it was read last. */
  private @Nullable Line seenLine;

  /** The time of the last question for the line that showed this place in it. */
  private Session.Sent seen;

  /** @param joined before it asked for its place */
  ConsulTicket(ConsulStore store, Attempt attempt, Session.Sent joined, Runnable wakeUp) {
    this.store = store;
    this.attempt = attempt;
    this.wakeUp = wakeUp;
    this.seen = joined;
    this.doubtUntilNanos = joined.nanos();
    // Soon enough that a waiter whose key disappeared knows it before those behind it may start.
    Duration half = Duration.ofNanos(attempt.session().ttlNanos() / 2);
    this.recheckAfter = least(half, LongPoll.RECHECK_AFTER);
  }

  /**
   * Begins to wait for the place before it in this line, and returns for how long at most.
   *
   * @param looks what {@link Session#looks} was before the line was read
   */
  Duration wait(Line line, int looks) {
    seenLine = line;
    Line.Place own = attempt.placeIn(line);
    if (own == null) {
      return Duration.ZERO;
    }
    holder = line.first().mark().holder();
    ahead = line.ahead(own);
    if (!ahead.isEmpty()) {
      Line.Place before = ahead.get(ahead.size() - 1);
      if (longPoll == null || !longPoll.isOn(before.entry())) {
        stop();
        longPoll = new PlaceAhead(before);
        longPoll.start();
      }
      if (line.first().equals(before)) {
        longPoll.looksOfFirst = looks;
      }
    }
    return recheckAfter;
  }

  @Override
  public Status poll() throws StoreException {
    Session session = attempt.session();
    Session.Sent now = store.now();
    attempt.seen(now.nanos());
    Deadline deadline = store.http().deadline();
    PlaceAhead heard = longPoll;
    if (heard != null
        && heard.isIdle()
        && heard.looksOfFirst != null
        && doubtUntilNanos - now.nanos() <= 0
        && session.isSure(now)
        // Renewals are answered from what a leader remembers, even one that is none any more.
        && session.isRecent(seen, now)) {
      Status status = granted(now.nanos(), seen.nanos(), heard.looksOfFirst);
      if (status != null) {
        return status;
      }
    }
    while (!session.isLost()) {
      int looks = session.looks();
      Session.Sent sent = store.now();
      Line line = store.line(attempt, deadline);
      doubt(line);
      if (attempt.placeIn(line) == null) {
        return over();
      }
      seen = sent;
      Line.Place first = line.first();
      Duration doubted = Duration.ofNanos(doubtUntilNanos - store.now().nanos());
      if (attempt.isAt(first)) {
        if (!doubted.isNegative() && !doubted.isZero()) {
          stop();
          return new Waiting(least(doubted, recheckAfter));
        }
        Status status = granted(sent.nanos(), sent.nanos(), looks);
        if (status != null) {
          return status;
        }
        continue;
      }
      Duration recheck = wait(line, looks);
      long leftNanos = store.clear(line, deadline);
      if (leftNanos > 0) {
        return new Waiting(least(Duration.ofNanos(leftNanos), recheck));
      }
    }
    return over();
  }

  private static Duration least(Duration one, Duration other) {
    return one.compareTo(other) < 0 ? one : other;
  }

  /** Begins to wait if anybody before has disappeared without a sign that the attempt is over. */
  private void doubt(Line line) {
    long settled = settled(line);
    if (doubtedNumber < settled) {
      doubtUntilNanos = store.now().nanos();
    }
    for (Line.Place place : ahead) {
      if (place.number() > settled && mayGoOn(place, line)) {
        doubt(place);
      }
    }
    // The ones that are still there are remembered anew; the others are doubted once.
    ahead = List.of();
  }

  /** The last place that had the lock, so that all up to it are over; zero: none. */
  private long settled(Line line) {
    PlaceAhead heard = longPoll;
    long settled = heard != null && heard.hadLock() ? heard.place.number() : 0;
    for (Line.Place place : ahead) {
      if (line.showsLockOf(place)) {
        settled = Math.max(settled, place.number());
      }
    }
    return settled;
  }

  private boolean mayGoOn(Line.Place place, Line line) {
    // The mark of a minimum hold is nobody's lease. An orphan is waited for where it stands.
    if (place.mark().released()
        || line.contains(place)
        || line.shows(place)
        || line.showsAsOrphan(place)) {
      return false;
    }
    PlaceAhead heard = longPoll;
    return heard == null || !heard.isOver() || !heard.place.equals(place);
  }

  private void doubt(Line.Place place) {
    long untilNanos = store.now().nanos() + Duration.ofMillis(place.millis()).toNanos();
    if (untilNanos - doubtUntilNanos > 0) {
      doubtUntilNanos = untilNanos;
    }
    doubtedNumber = Math.max(doubtedNumber, place.number());
  }

  /**
   * Takes the lock; null: it may have been taken by force already, so the line has to be read
   * again.
   */
  private @Nullable Status granted(long sinceNanos, long provedNanos, int looks) {
    stop();
    ConsulGrant grant = attempt.hold(sinceNanos, provedNanos);
    if (grant == null || attempt.session().isLost()) {
      return over();
    }
    if (attempt.session().looks() != looks) {
      return null;
    }
    granted = true;
    return new Granted(grant);
  }

  private Status over() {
    stop();
    store.sessions().cleanup().add(attempt);
    return new Gone();
  }

  @Override
  public Optional<String> holder() {
    return Optional.ofNullable(holder);
  }

  @Override
  public void close() throws StoreException {
    stop();
    if (granted) {
      return;
    }
    store.leave(attempt, store.http().deadline());
    Line left = seenLine;
    seenLine = null;
    if (left != null) {
      // This client may be gone before it has seen an orphan for long enough.
      store.sessions().countDown(left, attempt.claim());
    }
  }

  private void stop() {
    if (longPoll != null) {
      longPoll.stop();
      longPoll = null;
    }
  }

  /** A long poll on the key of the place before this one. */
  private final class PlaceAhead extends LongPoll {
    private final Line.Place place;

    /**
     * The value of {@link Session#looks} before the place was seen to be the first; the waiter's
     * own.
     */
    private @Nullable Integer looksOfFirst;

    PlaceAhead(Line.Place place) {
      super(store.http(), store.sessions().ticker()::later, place.entry(), wakeUp);
      this.place = place;
    }

    /** Returns the key, if it says that the place was given up; null: it does not. */
    private @Nullable Entry end() {
      News heard = news();
      return heard != null && Line.isOver(place, heard.entry()) ? heard.entry() : null;
    }

    boolean isOver() {
      return end() != null;
    }

    /** Whether it had the lock, and was given up. */
    boolean hadLock() {
      return Line.hadLock(place, end());
    }

    /** Whether it was given up, and also keeps nobody waiting. */
    boolean isIdle() {
      Entry end = end();
      // A later attempt at the same key has its place behind this waiter.
      return end != null && (Mark.of(end).isIdle() || !Mark.of(end).released());
    }
  }
}
