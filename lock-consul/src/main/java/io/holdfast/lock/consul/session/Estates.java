package io.holdfast.lock.consul.session;

import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.http.SessionRequests;
import io.holdfast.lock.consul.http.Transaction;
import io.holdfast.lock.consul.line.Keys;
import io.holdfast.lock.consul.line.Line;
import io.holdfast.lock.consul.line.Orphans;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/**
 * The keys that this client's sessions leave when they end, and that would keep others waiting for
 * a session's TTL. The client knows that none of its holders believes in a lease by then, so it
 * says so. Thread-safe.
 */
public final class Estates {
  private static final long FIRST_SWEEP_NANOS = TimeUnit.MINUTES.toNanos(1);
  private static final long SWEEP_NANOS = TimeUnit.HOURS.toNanos(1);

  private final ConsulHttp http;
  private final Keys keys;
  private final SessionRequests requests;
  private final Orphans orphans;
  private final TimeSource time;
  private final Queue<Estate> estates = new ConcurrentLinkedQueue<>();

  /** The time of the next look for what others left. */
  private volatile long sweepNanos;

  /**
   * Keys of a session that has ended, or is to.
   *
   * @param attempts those of attempts, in any state, that are to be settled yet
   * @param ended whether no late request can use the session any more
   */
  private record Estate(String session, Set<String> attempts, AtomicBoolean ended) {}

  Estates(ConsulHttp http, Keys keys, SessionRequests requests, Orphans orphans, TimeSource time) {
    this.http = http;
    this.keys = keys;
    this.requests = requests;
    this.orphans = orphans;
    this.time = time;
    // Not at once: most processes have other things to do when they start, and some soon end.
    this.sweepNanos =
        time.nanos() + FIRST_SWEEP_NANOS + ThreadLocalRandom.current().nextLong(FIRST_SWEEP_NANOS);
  }

  void add(String session, Set<String> attempts) {
    Set<String> left = ConcurrentHashMap.newKeySet();
    left.addAll(attempts);
    estates.add(new Estate(session, left, new AtomicBoolean()));
  }

  boolean isSomethingDue() {
    return !estates.isEmpty() || isSweepDue();
  }

  private boolean isSweepDue() {
    return time.nanos() - sweepNanos >= 0;
  }

  /**
   * Ends the sessions, and marks their attempts as over, so that whoever waits may start.
   *
   * @param deadline of each request or two: there can be many
   */
  void settle(Supplier<Deadline> deadline) throws StoreException {
    for (Estate estate = estates.peek(); estate != null; estate = estates.peek()) {
      boolean settled = false;
      try {
        settle(estate, deadline);
        settled = true;
      } finally {
        if (!settled) {
          // The others first next time.
          estates.remove(estate);
          estates.add(estate);
        }
      }
    }
  }

  private void settle(Estate estate, Supplier<Deadline> deadline) throws StoreException {
    end(estate, deadline.get());
    Set<String> attempts = estate.attempts();
    for (List<String> some : Transaction.parts(List.copyOf(attempts))) {
      Deadline ofSome = deadline.get();
      Line left = new Line(read(estate, some, ofSome));
      orphans.end(left.orphans(), ofSome);
      left.useless().forEach(orphans::addUseless);
      some.forEach(attempts::remove);
    }
    deleteOwn(estate, deadline.get());
  }

  /** Ends the sessions. */
  void end(Deadline deadline) throws StoreException {
    for (Estate estate : estates) {
      end(estate, deadline);
    }
  }

  private void end(Estate estate, Deadline deadline) throws StoreException {
    // It may live, if all that is known is that its key is gone.
    if (!estate.ended().get()) {
      requests.destroyForCertain(estate.session(), deadline);
      estate.ended().set(true);
    }
  }

  private List<Entry> read(Estate estate, List<String> some, Deadline deadline)
      throws StoreException {
    Transaction look = new Transaction();
    some.forEach(look::tree);
    return http.read(look, deadline).stream()
        .filter(entry -> estate.attempts().contains(entry.key()))
        .toList();
  }

  private void deleteOwn(Estate estate, Deadline deadline) throws StoreException {
    ConsulHttp.Outcome unused =
        http.transact(new Transaction().deleteTree(keys.session(estate.session())), deadline);
    estates.remove(estate);
  }

  /**
   * Looks for what processes left that died, or ended before its time was over: what their sessions
   * had for themselves, and keys in the lines of locks that nobody may ask for again.
   */
  void sweepIfDue() throws StoreException {
    if (!isSweepDue()) {
      return;
    }
    // Should it fail, it has time.
    sweepNanos = time.nanos() + FIRST_SWEEP_NANOS;
    List<Entry> ended = http.read(new Transaction().tree(keys.sessions()), http.deadline()).stream()
        .filter(entry -> entry.session().isEmpty())
        .toList();
    orphans.delete(ended, http.deadline());
    List<String> lines = http.keys(keys.lines(LockKind.MUTEX, ""), http.deadline());
    for (List<String> some : Transaction.parts(lines)) {
      Map<String, Line> unused = orphans.read(some, http.deadline());
    }
    sweepNanos = time.nanos() + SWEEP_NANOS + ThreadLocalRandom.current().nextLong(SWEEP_NANOS);
  }
}
