package io.holdfast.lock.consul;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
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
 * until the session's TTL is over, so this waiter does not start before.
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
  private Line.@Nullable Place before;
  private long doubtUntilNanos;
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
    before = line.before(own);
    if (before != null) {
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

  /** Begins to wait if the one before has disappeared without a sign that its attempt is over. */
  private void doubt(Line line) {
    Line.Place last = before;
    // The mark of a minimum hold is nobody's lease.
    if (last == null || last.mark().released() || line.contains(last) || line.shows(last)) {
      return;
    }
    LongPoll heard = longPoll;
    if (heard != null && heard.isOver && heard.place.equals(last)) {
      return;
    }
    before = null;
    // At least, in case that somebody else wrote there.
    long ttlMillis = Math.max(last.mark().millis(), Session.TTL_SECONDS_MIN * 1_000);
    long untilNanos = store.now().nanos() + Duration.ofMillis(ttlMillis).toNanos();
    if (untilNanos - doubtUntilNanos > 0) {
      doubtUntilNanos = untilNanos;
    }
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
