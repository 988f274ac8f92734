package io.holdfast.lock.consul.line;

import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.http.LongPoll;
import io.holdfast.lock.consul.http.SessionRequests;
import io.holdfast.lock.consul.http.Transaction;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The tasks with keys that are no living attempt's, whoever made them. Places that only time ends
 * are ended, and keys of no use deleted, when this client has seen them for long enough; and Consul
 * is asked to {@linkplain Countdown count down} for those who live too shortly for that.
 * Thread-safe.
 */
public final class LineCleanup {
  private static final Logger log = LoggerFactory.getLogger(LineCleanup.class);

  /**
   * The time for which a key stays whose attempt is over: the next attempt may use it, and a waiter
   * has to see that it is over, which looks by itself more often than that.
   */
  public static final long KEPT_NANOS = LongPoll.RECHECK_AFTER.plusSeconds(2).toNanos();

  private static final long MINUTE_NANOS = TimeUnit.MINUTES.toNanos(1);
  private static final long SWEEP_NANOS = TimeUnit.HOURS.toNanos(1);
  private static final String SWEEP = "sweep";

  private final ConsulHttp http;
  private final Keys keys;
  private final SessionRequests requests;
  private final TimeSource time;

  /** Places that only time ends, by what stays the same when a mark's session ends. */
  private final TaskQueue<Seen> timed;

  private final TaskQueue<Entry> useless;

  /** Lines that Consul is to count down, by their folders. */
  private final TaskQueue<Uncounted> uncounted;

  private final TaskQueue<String> sweep;

  /** A place as it was last seen, and when its time is over, counted from when it was first. */
  private record Seen(Line.Place place, long untilNanos) {}

  /**
   * A line whose first place Consul is to count down.
   *
   * @param sureSeconds a TTL that this Consul has sessions of
   */
  private record Uncounted(Line line, long sureSeconds) {}

  public LineCleanup(ConsulHttp http, Keys keys, SessionRequests requests, TimeSource time) {
    this.http = http;
    this.keys = keys;
    this.requests = requests;
    this.time = time;
    timed = new TaskQueue<>(time, Transaction.OPERATIONS_MAX, this::endSeen);
    useless =
        new TaskQueue<>(time, Transaction.OPERATIONS_MAX, some -> delete(some, http.deadline()));
    uncounted = new TaskQueue<>(time, 1, some -> beginOrLog(some.get(0), http.deadline()));
    sweep = new TaskQueue<>(time, 1, unused -> sweep());
    // Not at once: most processes have other things to do when they start, and some soon end.
    sweep.add(SWEEP, time.nanos() + MINUTE_NANOS + random(MINUTE_NANOS));
  }

  private static long random(long nanos) {
    return ThreadLocalRandom.current().nextLong(nanos);
  }

  /** Returns the tasks, those that somebody may wait for first. */
  public List<TaskQueue<?>> tasks() {
    return List.of(timed, uncounted, useless, sweep);
  }

  /** Remembers the places that only time ends, and the keys of no use. */
  public void note(Line line) {
    line.timed().forEach(this::note);
    line.useless().forEach(this::addUseless);
  }

  private void note(Line.Place place) {
    Entry same = identity(place);
    Seen before = timed.get(same);
    if (before != null && before.place().equals(place)) {
      return;
    }
    long untilNanos = before == null ? time.nanos() + waitNanos(place) : before.untilNanos();
    // A living client ends its mark itself; this one only forgets it.
    long dueNanos = place.hasSession() ? untilNanos + MINUTE_NANOS : untilNanos;
    timed.put(same, new Seen(place, untilNanos), dueNanos);
  }

  /**
   * The parts that stay as they are when a minimum hold's session ends; a lease's time begins then.
   */
  private static Entry identity(Line.Place place) {
    Entry entry = place.entry();
    return place.mark().released()
        ? new Entry(entry.key(), entry.value(), "", 0, entry.createIndex(), 0)
        : entry;
  }

  /** Has a key deleted that is of no use but to waiters who have yet to see that it is over. */
  public void addUseless(Entry entry) {
    useless.add(entry, time.nanos() + KEPT_NANOS);
  }

  /**
   * Reads lines together, and notes what is to be done with their keys.
   *
   * @param folders as many as a transaction has operations
   * @return those that are not empty, by their folders
   */
  public Map<String, Line> read(List<String> folders, Deadline deadline) throws StoreException {
    Transaction look = new Transaction();
    folders.forEach(look::tree);
    Map<String, Line> lines = new HashMap<>();
    http.read(look, deadline).stream()
        .collect(Collectors.groupingBy(entry -> Keys.lineOf(entry.key())))
        .forEach((folder, entries) -> lines.put(folder, new Line(entries)));
    lines.values().forEach(this::note);
    return lines;
  }

  private static long waitNanos(Line.Place place) {
    return TimeUnit.MILLISECONDS.toNanos(place.millis());
  }

  /** The time for which a place is to be left alone yet, by what this client has seen. */
  private long leftNanos(Line.Place place) {
    Seen seen = timed.get(identity(place));
    return seen == null ? waitNanos(place) : seen.untilNanos() - time.nanos();
  }

  private long leftNanos(Line.Place place, Line line) {
    return line.hasRunOut(place) ? 0 : leftNanos(place);
  }

  /**
   * The holder of a lock, as its first place tells it.
   *
   * @param ttlsOfACrash after how many TTLs of its session it is over if nobody renews that
   */
  public StoredHolder holder(Line.Place first, int ttlsOfACrash) {
    Mark mark = first.mark();
    Duration left = Duration.ofMillis(mark.millis()).multipliedBy(ttlsOfACrash);
    if (first.isTimed()) {
      note(first);
      left = Duration.ofNanos(Math.max(0, leftNanos(first)));
    }
    return new StoredHolder(first.number(), mark.holder(), mark.since(), left, mark.released());
  }

  /**
   * Ends what a line begins with, if its time is over: if this client has seen it, or Consul has
   * counted it down, for long enough.
   *
   * @return for how long it is to be left alone yet; zero: it is over, or something else by now
   */
  public long clear(Line line, Deadline deadline) throws StoreException {
    long leftNanos = leftNanos(line.first(), line);
    if (leftNanos > 0) {
      return leftNanos;
    }
    // All at once, since a process that died can have left many.
    end(line.timed().stream().filter(place -> leftNanos(place, line) <= 0).toList(), deadline);
    return 0;
  }

  private void endSeen(List<Seen> seen) throws StoreException {
    List<Line.Place> over =
        seen.stream().map(Seen::place).filter(place -> !place.hasSession()).toList();
    end(over, http.deadline());
  }

  /** Marks places as over, which they are for certain. */
  public void end(List<Line.Place> over, Deadline deadline) throws StoreException {
    for (List<Line.Place> some : Transaction.parts(over)) {
      // A session's key is its client's, which may have the next attempt at it.
      transact(some, (end, place) -> place.end(end), deadline).stream()
          .filter(entry -> entry.session().isEmpty())
          .forEach(this::addUseless);
      some.forEach(place -> timed.remove(identity(place)));
    }
  }

  /** Deletes keys as they are, and leaves those alone that somebody wrote to. */
  public void delete(List<Entry> entries, Deadline deadline) throws StoreException {
    for (List<Entry> some : Transaction.parts(entries)) {
      List<Entry> unused = transact(
          some, (delete, entry) -> delete.deleteAt(entry.key(), entry.modifyIndex()), deadline);
      some.forEach(useless::remove);
    }
  }

  /**
   * Deletes what is of no use, due or not, from lines in which nobody is: a waiter may have to see
   * yet that those before it are over, and deletes their keys later.
   */
  public void deleteUseless(Deadline deadline) throws StoreException {
    List<String> folders =
        useless.all().stream().map(entry -> Keys.lineOf(entry.key())).distinct().toList();
    for (List<String> some : Transaction.parts(folders)) {
      List<Entry> unseen = read(some, deadline).values().stream()
          .filter(Line::isEmpty)
          .flatMap(line -> line.useless().stream())
          .toList();
      delete(unseen, deadline);
    }
  }

  /** Does that with all that nobody else wrote to, and returns the keys as they are then. */
  private <T> List<Entry> transact(
      List<T> all, BiConsumer<Transaction, T> operation, Deadline deadline) throws StoreException {
    List<T> left = new ArrayList<>(all);
    while (!left.isEmpty()) {
      Transaction transaction = new Transaction();
      left.forEach(one -> operation.accept(transaction, one));
      ConsulHttp.Outcome outcome = http.transact(transaction, deadline);
      if (outcome instanceof ConsulHttp.Outcome.Failed failed) {
        left.removeAll(stale(left, failed));
      } else {
        return ((ConsulHttp.Outcome.Applied) outcome).entries();
      }
    }
    return List.of();
  }

  /** The ones that somebody else wrote to; the next client that sees them begins anew. */
  private static <T> List<T> stale(List<T> all, ConsulHttp.Outcome.Failed failed)
      throws StoreException {
    List<T> stale = new ArrayList<>();
    for (ConsulHttp.Failure failure : failed.failures()) {
      if (!failure.what().contains("stale")) {
        throw StoreException.refused("Consul refused: " + failure.what(), null);
      }
      stale.add(all.get((int) failure.operation()));
    }
    return stale;
  }

  /**
   * Deletes the own keys of sessions that have ended, and notes what processes left in lines when
   * they died, or ended before a minimum hold: nobody may ask for those locks again.
   */
  private void sweep() throws StoreException {
    // Should it fail, it has time.
    sweep.put(SWEEP, SWEEP, time.nanos() + MINUTE_NANOS);
    List<Entry> ended = http.read(new Transaction().tree(keys.sessions()), http.deadline()).stream()
        .filter(entry -> entry.session().isEmpty())
        .toList();
    delete(ended, http.deadline());
    List<String> lines = http.keys(keys.lines(LockKind.MUTEX, ""), http.deadline());
    for (List<String> some : Transaction.parts(lines)) {
      Map<String, Line> unused = read(some, http.deadline());
    }
    sweep.put(SWEEP, SWEEP, time.nanos() + SWEEP_NANOS + random(SWEEP_NANOS));
  }

  /**
   * Has Consul count down a line that begins with a key without a session, unless that is under
   * way: in the background, since the answer of the call that found it is certain without.
   *
   * @param sureSeconds a TTL that this Consul has sessions of
   */
  public void countDown(Line line, long sureSeconds) {
    if (!line.isEmpty() && !line.first().hasSession() && !line.isCountedDown(line.first())) {
      String folder = Keys.lineOf(line.first().entry().key());
      uncounted.add(folder, new Uncounted(line, sureSeconds), time.nanos());
    }
  }

  /** Begins all countdowns, those that are being begun included. */
  public void beginCountdowns(Deadline deadline) {
    uncounted.all().forEach(one -> beginOrLog(one, deadline));
  }

  /** Leaves what fails to the next client that finds it. */
  private void beginOrLog(Uncounted one, Deadline deadline) {
    try {
      begin(one, deadline);
    } catch (StoreException | RuntimeException e) {
      log.debug("Not counted down: {}", one.line().first(), e);
    }
  }

  private void begin(Uncounted uncounted, Deadline deadline) throws StoreException {
    Line line = uncounted.line();
    long ttlSeconds = ttlSeconds(line.first());
    String one;
    try {
      one = requests.createTimer(ttlSeconds, "", deadline);
    } catch (StoreException e) {
      if (e.mayHaveHappened() || ttlSeconds >= uncounted.sureSeconds()) {
        throw e;
      }
      // The server's session_ttl_min can be higher than a minimum hold.
      ttlSeconds = uncounted.sureSeconds();
      one = requests.createTimer(ttlSeconds, "", deadline);
    }
    // The address may be that of many agents.
    String other = requests.createTimer(ttlSeconds, requests.node(one, deadline), deadline);
    String text = Countdown.text(ttlSeconds, line.newestTimed());
    String folder = Keys.lineOf(line.first().entry().key());
    Transaction begin = new Transaction();
    line.countdownParts().forEach(part -> begin.deleteAt(part.key(), part.modifyIndex()));
    begin
        .checkNotExists(keys.countdown(folder, 1))
        .checkNotExists(keys.countdown(folder, 2))
        .lock(keys.countdown(folder, 1), text, one)
        .lock(keys.countdown(folder, 2), text, other);
    // If somebody else was faster, that one's goes on. Nor are these sessions destroyed then: the
    // answer can be that to a second copy of a request that got through.
    ConsulHttp.Outcome outcome = http.transact(begin, deadline);
    log.debug("Counting down {}: {}", line.first(), outcome);
  }

  /** The shortest TTL that counts it, since Consul ends a session after up to twice that. */
  private static long ttlSeconds(Line.Place timed) {
    long seconds = (timed.millis() + 999) / 1_000;
    return Math.min(
        SessionRequests.TTL_SECONDS_MAX, Math.max(SessionRequests.TTL_SECONDS_MIN, seconds));
  }
}
