package io.holdfast.lock.consul.store;

import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.line.Line;
import io.holdfast.lock.consul.line.LineCleanup;
import io.holdfast.lock.consul.line.Mark;
import io.holdfast.lock.consul.line.TaskQueue;
import io.holdfast.lock.consul.session.Attempt;
import io.holdfast.lock.consul.session.ConsulGrant;
import io.holdfast.lock.consul.session.Session;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The place of an attempt in a line. A waiter listens to a long poll on the key of the last place
 * that has to go first: a writer on that of the place before its own, so that a release wakes one
 * waiter and not all, a reader on that of the last writer's. There are few {@link LongPolls}:
 * without one, it looks every second.
 *
 * <p>If no other place had to go first, the end of that one gives this one its turn, since nobody
 * comes in between. Then the answer to the long poll is the grant, and nothing more is asked, as
 * long as the session certainly lives.
 *
 * <p>Only a released mark on its key proves that an attempt is over. If its session has ended
 * instead (it expired, was destroyed, or its server left), the holder may go on for the session's
 * TTL, and {@link LineCleanup} tells when it no longer can. If its key has disappeared or has
 * another value (somebody deleted it, wrote to it, or restored a snapshot), that is an <em>unproved
 * end</em>, and this waiter waits for a TTL, too. It does so for every place ahead, since the one
 * just before it may leave without ever having had the lock. But if a key says that its attempt had
 * the lock and is over, all places before that one are over. (That of a reader never says so.) A
 * reader enters beside other readers, so to it only places of writers count in all this.
 */
public final class ConsulTicket implements Ticket {
  private static final Logger log = LoggerFactory.getLogger(ConsulTicket.class);

  /** The time after which a waiter reads the line if it found no room for its long poll. */
  private static final Duration RECHECK_WITHOUT_LONG_POLL = Duration.ofSeconds(1);

  private final ConsulStore store;
  private final Attempt attempt;
  private final @Nullable Runnable wakeUp;
  private final Duration recheckAfter;
  private volatile @Nullable String holder;

  // Used by the waiting thread alone, like all fields below.
  private @Nullable PlaceAhead placeAhead;

  /** The places that had to go first when the line was last read. */
  private List<Line.Place> ahead = List.of();

  /** The time until which the holder of a place with an unproved end may still trust its lease. */
  private long unprovedUntilNanos;

  /** The highest number of a place with an unproved end; zero: there was none. */
  private long highestUnproved;

  private boolean granted;

  /** The line when it was last read. */
  private Line seenLine = new Line(List.of());

  /** The time at which the last read that showed this place in the line was sent. */
  private Session.Moment seen;

  /**
   * @param sent a time before the request that joined the line was sent
   * @param wakeUp null: nobody is going to wait
   */
  ConsulTicket(ConsulStore store, Attempt attempt, Session.Moment sent, @Nullable Runnable wakeUp) {
    this.store = store;
    this.attempt = attempt;
    this.wakeUp = wakeUp;
    this.seen = sent;
    this.unprovedUntilNanos = sent.nanos();
    // A waiter whose key disappeared must know of it before those behind it may start.
    Duration half = Duration.ofNanos(attempt.session().ttlNanos() / 2);
    this.recheckAfter = Collections.min(List.of(half, LineCleanup.RECHECK_AFTER));
    attempt.wakeWith(wakeUp);
  }

  @Override
  public Status poll() throws StoreException {
    Session session = attempt.session();
    Session.Moment now = store.now();
    attempt.notePoll(now.nanos());
    Deadline deadline = store.http().deadline();
    if (placeAhead != null
        && placeAhead.isVacated()
        && placeAhead.forceChecksWhenLast != null
        && unprovedUntilNanos - now.nanos() <= 0
        && session.isSure(now)
        // A renewal alone is no proof: a leader answers it from memory, even one that was replaced.
        && session.isRecent(seen, now)) {
      Status status = takeLock(now.nanos(), seen.nanos(), placeAhead.forceChecksWhenLast);
      if (status != null) {
        return status;
      }
    }
    if (session.isLost()) {
      return endAttempt();
    }
    boolean wasTold = placeAhead != null && placeAhead.heard;
    return advance(store.readLineOf(attempt, !wasTold, deadline), deadline);
  }

  /**
   * Takes the lock if no place has to go first, once those whose time is over are ended. Else waits
   * for the end of the last of them.
   */
  Status advance(ConsulStore.LineRead first, Deadline deadline) throws StoreException {
    ConsulStore.LineRead read = first;
    // Each turn reads the line again, since a place was ended, or a force check began.
    while (true) {
      Line line = read.line();
      noteUnprovedEnds(line);
      seenLine = line;
      Line.Place own = attempt.placeIn(line);
      if (own == null) {
        return endAttempt();
      }
      seen = read.sent();
      holder = line.first().mark().holder();
      ahead = line.ahead(own);
      if (ahead.isEmpty()) {
        long leftNanos = unprovedUntilNanos - store.now().nanos();
        if (leftNanos > 0) {
          stopListening();
          return new Waiting(Collections.min(List.of(Duration.ofNanos(leftNanos), recheckAfter)));
        }
        Status status = takeLock(read.sent().nanos(), read.sent().nanos(), read.forceChecks());
        if (status != null) {
          return status;
        }
      } else {
        long leftNanos =
            store.sessions().lineCleanup().endIfOver(line, attempt.isShared(), deadline);
        if (leftNanos > 0) {
          Duration recheck = watch(ahead.get(ahead.size() - 1), read);
          return new Waiting(Collections.min(List.of(Duration.ofNanos(leftNanos), recheck)));
        }
      }
      read = store.readLineOf(attempt, false, deadline);
    }
  }

  /**
   * Listens to a long poll on the last place that has to go first, unless it does.
   *
   * @return the time after which the line must be read even if nothing is heard
   */
  private Duration watch(Line.Place before, ConsulStore.LineRead read) {
    if (wakeUp == null) {
      return recheckAfter;
    }
    if (placeAhead == null || !placeAhead.isOn(before)) {
      stopListening();
      placeAhead = new PlaceAhead(before);
      placeAhead.listen();
    }
    if (ahead.size() == 1) {
      placeAhead.forceChecksWhenLast = read.forceChecks();
    }
    return placeAhead.isOn(before)
        ? recheckAfter
        : Collections.min(List.of(recheckAfter, RECHECK_WITHOUT_LONG_POLL));
  }

  /**
   * Makes this waiter wait for a TTL from now if there is a new unproved end ahead; ends such a
   * wait if all those places are proved to be over by now.
   */
  private void noteUnprovedEnds(Line line) {
    long provedOver = lastProvedOver(line);
    if (highestUnproved < provedOver) {
      unprovedUntilNanos = store.now().nanos();
    }
    for (Line.Place place : ahead) {
      if (place.number() > provedOver && hasUnprovedEnd(place, line)) {
        long untilNanos = store.now().nanos() + place.nanos();
        unprovedUntilNanos = untilNanos - unprovedUntilNanos > 0 ? untilNanos : unprovedUntilNanos;
        highestUnproved = Math.max(highestUnproved, place.number());
      }
    }
    // Those still in the line are remembered again by advance(); the others are noted only once.
    ahead = List.of();
  }

  /**
   * Returns the number up to which all places are proved to be over: that of the last place ahead
   * that had the lock and is over; zero: there is none.
   */
  private long lastProvedOver(Line line) {
    PlaceAhead heard = placeAhead;
    long last = heard != null && Line.hadLock(heard.place, heard.proof) ? heard.place.number() : 0;
    for (Line.Place place : ahead) {
      if (Line.hadLock(place, line.entryOf(place))) {
        last = Math.max(last, place.number());
      }
    }
    return last;
  }

  /**
   * Whether a place's end is unproved: its key has changed or gone without proof that its attempt
   * is over, so that its holder may still trust its lease.
   */
  private boolean hasUnprovedEnd(Line.Place place, Line line) {
    Entry now = line.entryOf(place);
    // A minimum hold is no lease. An orphan is in the line, and is waited for there.
    if (place.mark().released()
        || place.entry().equals(now)
        || Line.isOver(place, now)
        || (now != null && Line.isOrphan(now))) {
      return false;
    }
    // The long poll may have seen the proof before the key changed again.
    return placeAhead == null || placeAhead.proof == null || !placeAhead.place.equals(place);
  }

  /**
   * Makes this attempt the holder; null: its key may have been released by force already, so the
   * line must be read again.
   */
  private @Nullable Status takeLock(long sinceNanos, long provedNanos, int forceChecks) {
    stopListening();
    ConsulGrant grant = attempt.hold(sinceNanos, provedNanos);
    if (grant == null || attempt.session().isLost()) {
      return endAttempt();
    }
    if (attempt.session().forceChecks() != forceChecks) {
      return null;
    }
    granted = true;
    return new Granted(grant);
  }

  private Status endAttempt() {
    stopListening();
    store.sessions().cleanup().freeLater(attempt);
    return new Gone();
  }

  @Override
  public Optional<String> holder() {
    return Optional.ofNullable(holder);
  }

  @Override
  public void close() throws StoreException {
    stopListening();
    if (!granted) {
      leave(store.http().deadline());
    }
  }

  /** Leaves the line. May be repeated, also at the same time as a withdrawal. */
  void leave(Deadline deadline) throws StoreException {
    store.sessions().cleanup().free(attempt, deadline);
    // This client may be closed before it has seen an orphan for long enough.
    store.sessions().lineCleanup().countDown(seenLine);
  }

  /**
   * Whether another kept the lock taken when the line was last read: one ahead of this place, or,
   * if this place was gone, one whose session lived.
   */
  boolean sawOtherHolder() {
    Line.Place own = attempt.placeIn(seenLine);
    return own == null
        ? seenLine.isHeld(attempt.isShared())
        : !seenLine.ahead(own).isEmpty();
  }

  private void stopListening() {
    if (placeAhead != null) {
      placeAhead.stop();
      placeAhead = null;
    }
  }

  /** A long poll on a place that has to go first, which wakes the waiter, and its answer. */
  private final class PlaceAhead {
    private final Line.Place place;

    /** Whether nobody listens to a long poll, or it is over. */
    private volatile boolean pollOver;

    /** Whether the long poll was answered. */
    private volatile boolean heard;

    /** The key, if it proves that the place was given up. */
    private volatile @Nullable Entry proof;

    /**
     * The number of force checks when the read was sent that showed this place as the only one
     * ahead; null: no read did. Used by the waiting thread alone.
     */
    private @Nullable Integer forceChecksWhenLast;

    PlaceAhead(Line.Place place) {
      this.place = place;
    }

    void listen() {
      CompletableFuture<ConsulHttp.News> change = store.longPolls().change(place.entry());
      if (change == null) {
        pollOver = true;
      } else {
        var unused = change.whenComplete(this::onNews);
      }
    }

    private void onNews(ConsulHttp.@Nullable News news, @Nullable Throwable failure) {
      if (pollOver) {
        return;
      }
      if (news != null) {
        Entry now = news.entry();
        proof = Line.isOver(place, now) ? now : null;
        heard = true;
        endAndWake();
      } else {
        log.debug("The waiter looks at the line by itself", failure);
        // Not at once, or an agent that refuses would be asked again and again.
        store.sessions().runLater(TaskQueue.retryNanos() / 2, this::endAndWake);
      }
    }

    private void endAndWake() {
      pollOver = true;
      attempt.wake();
    }

    void stop() {
      pollOver = true;
    }

    /** Whether it still waits for a change of this place. */
    boolean isOn(Line.Place other) {
      return !pollOver && place.entry().equals(other.entry());
    }

    /** Whether the place was given up, and no minimum hold keeps the name taken. */
    boolean isVacated() {
      Entry now = proof;
      // If the key has a new attempt, that one stands behind this waiter.
      return now != null && (Mark.of(now).isIdle() || !Mark.of(now).released());
    }
  }
}
