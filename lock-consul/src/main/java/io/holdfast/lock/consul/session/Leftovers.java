package io.holdfast.lock.consul.session;

import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.http.Transaction;
import io.holdfast.lock.consul.line.Countdowns;
import io.holdfast.lock.consul.line.Keys;
import io.holdfast.lock.consul.line.Line;
import io.holdfast.lock.consul.line.Mark;
import io.holdfast.lock.consul.line.Orphans;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The keys left to delete of attempts that are over, and the thread that does it, apart from the
 * one that renews sessions: a Consul that does not answer delays no renewal. Thread-safe.
 */
public final class Leftovers {
  private static final Logger log = LoggerFactory.getLogger(Leftovers.class);

  /** The gate is one more. */
  private static final int PURGED_AT_ONCE = Transaction.OPERATIONS_MAX - 1;

  private final ConsulHttp http;
  private final Keys keys;
  private final Sessions sessions;
  private final Abandoned abandoned;
  private final Orphans orphans;
  private final Estates estates;
  private final Countdowns countdowns;
  private final TimeSource time;

  /** The ends of minimum holds, by their keys. */
  private final Map<String, Hold> holds = new ConcurrentHashMap<>();

  private final Queue<Purge> purges = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean cleaning = new AtomicBoolean();
  private final AtomicBoolean endingHolds = new AtomicBoolean();

  /** The time from which a failed step may be tried again. */
  private volatile long retryNanos;

  /**
   * The mark of a minimum hold, which keeps the name taken until then.
   *
   * @param endAtNanos when its end is written, or tried again: not before {@code untilNanos}
   */
  private record Hold(Attempt attempt, Entry mark, long untilNanos, long endAtNanos) {
    Hold again(long atNanos) {
      return new Hold(attempt, mark, untilNanos, atNanos);
    }
  }

  /** Keys that nobody came back for. */
  private record Purge(Session session, List<SpareKeys.Spare> spares) {}

  Leftovers(
      ConsulHttp http,
      Keys keys,
      Sessions sessions,
      Abandoned abandoned,
      Orphans orphans,
      Estates estates,
      Countdowns countdowns,
      TimeSource time) {
    this.http = http;
    this.keys = keys;
    this.sessions = sessions;
    this.abandoned = abandoned;
    this.orphans = orphans;
    this.estates = estates;
    this.countdowns = countdowns;
    this.time = time;
    this.retryNanos = time.nanos();
  }

  /** An attempt's key was marked as over, and keeps the name taken for that long. */
  public void released(Attempt attempt, Entry mark, long holdNanos) {
    if (holdNanos > 0) {
      long untilNanos = time.nanos() + holdNanos;
      holds.put(attempt.key(), new Hold(attempt, mark, untilNanos, untilNanos));
      sessions.ticker().after(holdNanos, this::tendHolds);
    } else {
      spare(attempt, mark.modifyIndex());
    }
  }

  /**
   * An attempt's key was marked as over, so that another attempt may have it.
   *
   * @param index the key's index since then
   */
  void spare(Attempt attempt, long index) {
    String key = attempt.key();
    Session session = attempt.session();
    session.spareKeys().give(new SpareKeys.Spare(Keys.lineOf(key), key, index, time.nanos()));
    if (session.isLost()) {
      // Its spare keys may have been collected before.
      estates.add(session.id(), takeSpares(session));
    }
  }

  /** Keys of a session that are in nobody's line, and are forgotten here. */
  Set<String> takeSpares(Session session) {
    Set<String> spares = new HashSet<>();
    List<Purge> ofSession =
        purges.stream().filter(purge -> purge.session() == session).toList();
    purges.removeAll(ofSession);
    ofSession.forEach(purge -> purge.spares().forEach(spare -> spares.add(spare.key())));
    session
        .spareKeys()
        .takeOld(time.nanos(), Integer.MAX_VALUE)
        .forEach(spare -> spares.add(spare.key()));
    return spares;
  }

  /** Does what is due, unless that is being done. */
  void tend(Collection<Session> inUse) {
    tendHolds();
    if (isSomethingDue(inUse)) {
      begin(cleaning, () -> clean(inUse));
    }
  }

  /** Ends the holds that are due, beside all else: somebody may be waiting for that moment. */
  private void tendHolds() {
    long nowNanos = time.nanos();
    if (holds.values().stream().anyMatch(one -> nowNanos - one.endAtNanos() >= 0)) {
      begin(endingHolds, () -> safely(this::endDueHolds));
    }
  }

  /** Begins some work in the background, unless it is under way. */
  private void begin(AtomicBoolean underWay, Runnable work) {
    if (!underWay.compareAndSet(false, true)) {
      return;
    }
    boolean begun = false;
    try {
      begun = http.execute(() -> {
        try {
          work.run();
        } finally {
          underWay.set(false);
        }
      });
    } finally {
      if (!begun) {
        underWay.set(false);
      }
    }
  }

  private boolean isSomethingDue(Collection<Session> inUse) {
    long nowNanos = time.nanos();
    boolean mayRetry = nowNanos - retryNanos >= 0;
    return abandoned.isSomethingDue()
        || countdowns.isSomethingDue()
        || (mayRetry && (!purges.isEmpty() || estates.isSomethingDue() || orphans.isSomethingDue()))
        || inUse.stream()
            .anyMatch(session -> session.spareKeys().isOld(nowNanos - Orphans.KEPT_NANOS));
  }

  private void clean(Collection<Session> inUse) {
    boolean isRetry = time.nanos() - retryNanos >= 0;
    safely(abandoned::freeDue);
    inUse.forEach(this::collectOld);
    if (isRetry) {
      // Those that somebody may wait for first. Each has its own time: none keeps the others back.
      safely(() -> estates.settle(http::deadline));
      safely(() -> orphans.endDue(http.deadline()));
      safely(() -> orphans.deleteDue(http.deadline()));
      safely(this::purge);
      safely(estates::sweepIfDue);
    }
    safely(() -> countdowns.begin(http.deadline()));
  }

  private interface Task {
    void run() throws StoreException;
  }

  /** Whatever is thrown: all this would be tried again at once, and nothing else be done. */
  private void safely(Task task) {
    boolean done = false;
    try {
      task.run();
      done = true;
    } catch (StoreException e) {
      log.debug("Keys could not be cleared away; again later", e);
    } catch (RuntimeException | Error e) {
      log.error("Keys could not be cleared away; again later", e);
    } finally {
      if (!done) {
        retryNanos = againNanos();
      }
    }
  }

  private void endDueHolds() throws StoreException {
    for (Hold hold : List.copyOf(holds.values())) {
      if (time.nanos() - hold.endAtNanos() >= 0) {
        // Should it fail, the others first next time.
        holds.put(hold.attempt().key(), hold.again(againNanos()));
        end(hold, http.deadline());
        holds.remove(hold.attempt().key());
      }
    }
  }

  private void end(Hold hold, Deadline deadline) throws StoreException {
    // Whatever was written there since: its session's end, or what somebody did who saw it for
    // long.
    Entry mark = hold.mark();
    String key = mark.key();
    String over = Mark.of(mark).withHold(0).text();
    while (mark != null) {
      ConsulHttp.Outcome outcome = http.transact(
          new Transaction().setAt(key, mark.modifyIndex(), over, Line.HAD_LOCK), deadline);
      if (outcome instanceof ConsulHttp.Outcome.Applied applied) {
        spare(hold.attempt(), applied.entries().get(0).modifyIndex());
        return;
      }
      mark = http.readKey(key, deadline);
    }
  }

  /**
   * Has Consul measure what is left of minimum holds, whose sessions were ended, and whatever else
   * is to be counted down.
   */
  void countDown(Deadline deadline) {
    for (Hold hold : holds.values()) {
      try {
        shorten(hold, deadline);
      } catch (StoreException e) {
        log.debug("A minimum hold is counted from the start by who finds it: {}", hold, e);
      }
    }
    countdowns.begin(deadline);
  }

  /** Writes how much is left of a minimum hold to its mark. */
  private void shorten(Hold hold, Deadline deadline) throws StoreException {
    String key = hold.mark().key();
    Entry mark = http.readKey(key, deadline);
    if (mark == null || !Mark.of(mark).released() || Mark.of(mark).isIdle()) {
      // Whoever saw it for long enough was faster, or took it by force.
      return;
    }
    long leftNanos = Math.max(0, hold.untilNanos() - time.nanos());
    String text = Mark.of(mark).withHold(leftNanos).text();
    ConsulHttp.Outcome outcome = http.transact(
        new Transaction()
            .setAt(key, mark.modifyIndex(), text, Line.HAD_LOCK)
            .tree(Keys.lineOf(key)),
        deadline);
    if (outcome instanceof ConsulHttp.Outcome.Applied applied) {
      Line line = new Line(applied.entries());
      line.useless().stream().filter(entry -> entry.key().equals(key)).forEach(orphans::addUseless);
      long ttlNanos = hold.attempt().session().ttlNanos();
      countdowns.add(line, TimeUnit.NANOSECONDS.toSeconds(ttlNanos));
    }
  }

  private long againNanos() {
    return time.nanos() + Ticker.retryNanos();
  }

  private void collectOld(Session session) {
    List<SpareKeys.Spare> old;
    do {
      old = session.spareKeys().takeOld(time.nanos() - Orphans.KEPT_NANOS, PURGED_AT_ONCE);
      if (!old.isEmpty()) {
        purges.add(new Purge(session, old));
      }
    } while (!old.isEmpty());
  }

  private void purge() throws StoreException {
    for (Purge next = purges.peek(); next != null; next = purges.peek()) {
      purge(next);
      boolean unused = purges.remove(next);
    }
  }

  /** Deletes old keys, and makes sure that no late request makes them anew. */
  private void purge(Purge purge) throws StoreException {
    Session session = purge.session();
    Transaction transaction = new Transaction();
    if (!session.isLost()) {
      transaction.lock(keys.gate(session.id()), session.newGateText(), session.id());
    }
    purge.spares().forEach(spare -> transaction.delete(spare.key()));
    ConsulHttp.Outcome outcome = http.transact(transaction, http.deadline());
    if (outcome instanceof ConsulHttp.Outcome.Applied applied) {
      if (!applied.entries().isEmpty()) {
        session.gateIndex(applied.entries().get(0).modifyIndex());
      }
    } else if (outcome instanceof ConsulHttp.Outcome.Failed failed) {
      // If the session has ended, they are deleted with what else it leaves.
      if (!sessions.isGone(session, failed)) {
        throw StoreException.refused("Consul deleted nothing: " + failed.what(), null);
      }
      throw StoreException.refused("The session has ended", null);
    }
  }
}
