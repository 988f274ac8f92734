package io.holdfast.lock.consul;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import okhttp3.Call;
import org.jspecify.annotations.Nullable;

/**
 * A place in a line that is not the first. It hears of the end of the attempt before it, by one
 * long poll on that one's key, so that a release wakes one waiter and not all.
 *
 * <p>If that attempt was the first, its end makes this one the first: nobody comes before. Then the
 * long poll's answer is the grant, and nothing more is asked, as long as the session is sure to
 * live.
 *
 * <p>A key that says so proves that its attempt is over. One that merely disappeared (its session
 * was destroyed, its server left, a snapshot was restored) proves nothing: its holder may go on
 * until the session's TTL is over, so this waiter does not start before. That goes for every place
 * before this one: those in between may leave without ever having had the lock. Whose key says that
 * it had the lock has waited for all before it, and ends the doubts about them.
 */
final class ConsulTicket implements Ticket {
  /** In case that the long poll came to grief. */
  static final Duration RECHECK_AFTER = Duration.ofSeconds(10);

  private static final Duration LONG_POLL = Duration.ofMinutes(1);

  private final ConsulStore store;
  private final Attempt attempt;
  private final Runnable wakeUp;
  private final Duration recheckAfter;
  private volatile @Nullable String holder;

  // The waiting thread's own.
  private @Nullable LongPoll longPoll;

  /** The places before this one, as the line was last read. */
  private List<Line.Place> ahead = List.of();

  private long doubtUntilNanos;

  /** The last place whose holder may go on until then. */
  private long doubtedNumber;

  private boolean granted;

  /** When Consul was last asked for the line and showed this place in it. */
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
    this.recheckAfter = half.compareTo(RECHECK_AFTER) < 0 ? half : RECHECK_AFTER;
  }

  /**
   * Waits for whoever is before it in this line; for how long at most.
   *
   * @param looks what {@link Session#looks} was before the line was read
   */
  Duration wait(Line line, int looks) {
    Line.Place own = line.own(attempt);
    if (own == null) {
      return Duration.ZERO;
    }
    holder = line.first().mark().holder();
    ahead = line.ahead(own);
    if (!ahead.isEmpty()) {
      Line.Place before = ahead.get(ahead.size() - 1);
      if (longPoll == null || !longPoll.isOn(before.entry())) {
        stop();
        longPoll = new LongPoll(before);
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
    Deadline deadline = store.sessions().deadline();
    LongPoll heard = longPoll;
    if (heard != null
        && heard.isIdle
        && heard.looksOfFirst != null
        && doubtUntilNanos - now.nanos() <= 0
        && session.isSure(now)
        // Renewals are answered from what a leader remembers, even one that is none any more.
        && session.isRecent(seen, now)) {
      Status status = granted(now.nanos(), heard.looksOfFirst);
      if (status != null) {
        return status;
      }
    }
    while (!session.isLost()) {
      int looks = session.looks();
      Session.Sent sent = store.now();
      Line line = store.line(attempt, deadline);
      doubt(line);
      if (line.own(attempt) == null) {
        return over();
      }
      seen = sent;
      Line.Place first = line.first();
      Duration doubted = Duration.ofNanos(doubtUntilNanos - store.now().nanos());
      if (first.isOf(attempt)) {
        if (!doubted.isNegative() && !doubted.isZero()) {
          stop();
          return new Waiting(least(doubted, recheckAfter));
        }
        Status status = granted(sent.nanos(), looks);
        if (status != null) {
          return status;
        }
        continue;
      }
      Duration recheck = wait(line, looks);
      if (!first.mark().released()) {
        return new Waiting(recheck);
      }
      long leftNanos = store.marks().clear(first.entry(), first.mark(), deadline);
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
    // Whoever is still there is remembered anew; the others are doubted once.
    ahead = List.of();
  }

  /** Up to which place everybody is certainly over, since that one had the lock; zero: none. */
  private long settled(Line line) {
    LongPoll heard = longPoll;
    long settled = heard != null && heard.hadLock ? heard.place.number() : 0;
    for (Line.Place place : ahead) {
      if (line.showsLockOf(place)) {
        settled = Math.max(settled, place.number());
      }
    }
    return settled;
  }

  private boolean mayGoOn(Line.Place place, Line line) {
    // The mark of a minimum hold is nobody's lease.
    if (place.mark().released() || line.contains(place) || line.shows(place)) {
      return false;
    }
    LongPoll heard = longPoll;
    return heard == null || !heard.isOver || !heard.place.equals(place);
  }

  private void doubt(Line.Place place) {
    // At least, in case that somebody else wrote there.
    long ttlMillis = Math.max(place.mark().millis(), Session.TTL_SECONDS_MIN * 1_000);
    long untilNanos = store.now().nanos() + Duration.ofMillis(ttlMillis).toNanos();
    if (untilNanos - doubtUntilNanos > 0) {
      doubtUntilNanos = untilNanos;
    }
    doubtedNumber = Math.max(doubtedNumber, place.number());
  }

  /** Null: it may have been taken by force already, and has to be looked for once more. */
  private @Nullable Status granted(long sentNanos, int looks) {
    stop();
    ConsulGrant grant = attempt.hold(sentNanos);
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
    store.sessions().abandoned().add(attempt);
    return new Gone();
  }

  @Override
  public Optional<String> holder() {
    return Optional.ofNullable(holder);
  }

  @Override
  public void close() throws StoreException {
    stop();
    if (!granted) {
      store.leave(attempt, store.sessions().deadline());
    }
  }

  private void stop() {
    if (longPoll != null) {
      longPoll.stop();
      longPoll = null;
    }
  }

  /** One question to Consul: tell me when this key has changed. */
  private final class LongPoll implements ConsulHttp.Heard {
    private final Line.Place place;

    /** What {@link Session#looks} was before nobody was seen before the place; the waiter's own. */
    private @Nullable Integer looksOfFirst;

    private volatile boolean ended;

    /** Whether the place was given up for certain. */
    private volatile boolean isOver;

    /** Whether it had the lock before. */
    private volatile boolean hadLock;

    /** Whether it also keeps nobody waiting. */
    private volatile boolean isIdle;

    private volatile @Nullable Call call;

    LongPoll(Line.Place place) {
      this.place = place;
    }

    void start() {
      call = store.http().watch(place.entry().key(), place.entry().modifyIndex(), LONG_POLL, this);
    }

    boolean isOn(Entry other) {
      return !ended
          && place.entry().key().equals(other.key())
          && place.entry().modifyIndex() == other.modifyIndex();
    }

    void stop() {
      ended = true;
      Call asked = call;
      if (asked != null) {
        asked.cancel();
      }
    }

    @Override
    public void answered(@Nullable Entry now, long index) {
      if (now != null && Line.isOver(place, now)) {
        isOver = true;
        hadLock = Line.hadLock(place, now);
        // A later attempt at the same key has its place behind this waiter.
        isIdle = now.mark().isIdle() || !now.mark().released();
      }
      ended = true;
      wakeUp.run();
    }

    @Override
    public void failed(String why) {
      if (!ended) {
        // Not at once: an agent that refuses would be asked without end.
        store.sessions().later(() -> {
          ended = true;
          wakeUp.run();
        });
      }
    }
  }
}
