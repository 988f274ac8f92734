package io.holdfast.lock.consul.line;

import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.http.Outcome;
import io.holdfast.lock.consul.http.SessionRequests;
import io.holdfast.lock.consul.http.Transaction;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Cleans up the keys, of any client, that belong to no living attempt. Once this client has seen
 * them for long enough, it ends the timed places of a {@link Line}, and deletes the keys of no use.
 * A client that may be closed before that begins a {@link Countdown}. Thread-safe.
 */
public final class LineCleanup {
  private static final Logger log = LoggerFactory.getLogger(LineCleanup.class);

  /**
   * The longest time after which a waiter reads the line even if its long poll has told it nothing.
   */
  public static final Duration RECHECK_AFTER = Duration.ofSeconds(10);

  /**
   * The time for which a key stays after its attempt is over, so that the next attempt can use it,
   * and waiters, which read the line more often than that, see that it is over.
   */
  public static final long KEPT_NANOS = RECHECK_AFTER.plusSeconds(2).toNanos();

  /**
   * The longest time for which a lock stays taken after the last renewal of its session, in TTLs of
   * the session. Consul ends the session after up to two. Then one more must pass, in which the
   * holder may still trust its lease; if a {@link Countdown} measures that one, it takes up to two.
   * A witness ends earlier than that.
   */
  public static final int TTLS_OF_A_CRASH = 4;

  private static final long MINUTE_NANOS = TimeUnit.MINUTES.toNanos(1);
  private static final long SWEEP_NANOS = TimeUnit.HOURS.toNanos(1);
  private static final String SWEEP = "sweep";

  private final ConsulHttp http;
  private final Keys keys;
  private final SessionRequests requests;
  private final TimeSource time;

  /** Timed places that this client has seen, by their {@link #identity}. */
  private final TaskQueue<Seen> timed;

  private final TaskQueue<Entry> useless;

  /** Lines for which a countdown is to begin, by their folders. */
  private final TaskQueue<Line> uncounted;

  private final TaskQueue<String> sweep;

  private final WitnessedEnds witnessedEnds;

  /**
   * A place as it was seen last.
   *
   * @param untilNanos the end of its time, counted from when it was seen first
   */
  private record Seen(Line.Place place, long untilNanos) {}

  public LineCleanup(ConsulHttp http, Keys keys, SessionRequests requests, TimeSource time) {
    this.http = http;
    this.keys = keys;
    this.requests = requests;
    this.time = time;
    witnessedEnds = new WitnessedEnds(http, keys, time);
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

  /** Returns the queues of tasks. */
  public List<TaskQueue<?>> tasks() {
    return List.of(timed, uncounted, useless, sweep);
  }

  /** Notes the timed places of a line, and the keys of no use. */
  public void note(Line line) {
    line.timed().forEach(this::note);
    line.useless().forEach(this::addUseless);
  }

  private void note(Line.Place place) {
    Entry same = identity(place);
    Seen before = timed.get(same);
    long untilNanos = before == null ? time.nanos() + place.nanos() : before.untilNanos();
    // The background leaves a hold whose session lived when it was last seen to its client, and
    // forgets it a minute later. If that client died since, whoever sees the hold next counts from
    // the beginning.
    long dueNanos = place.hasSession() ? untilNanos + MINUTE_NANOS : untilNanos;
    timed.put(same, new Seen(place, untilNanos), dueNanos);
  }

  /**
   * Returns what stays the same of a timed place until its time is over. The time of a minimum hold
   * goes on when the end of its session changes the entry; the time of an orphan begins with that
   * change.
   */
  private static Entry identity(Line.Place place) {
    Entry entry = place.entry();
    return place.mark().released()
        ? new Entry(entry.key(), entry.value(), "", 0, entry.createIndex(), 0)
        : entry;
  }

  /** Has a key of no use deleted, once waiters have had time to see that its attempt is over. */
  public void addUseless(Entry entry) {
    useless.add(entry, time.nanos() + KEPT_NANOS);
  }

  /**
   * Reads some lines together, and notes what is to be done with their keys.
   *
   * @param folders no more than a transaction has operations
   * @return the lines that have keys, by their folders
   */
  public Map<String, Line> read(List<String> folders, Deadline deadline) throws StoreException {
    Transaction read = new Transaction();
    folders.forEach(read::tree);
    Map<String, Line> lines = http.read(read, deadline).stream()
        .collect(Collectors.groupingBy(
            entry -> Keys.lineOf(entry.key()),
            Collectors.collectingAndThen(Collectors.toList(), Line::new)));
    lines.values().forEach(this::note);
    return lines;
  }

  /** Reads the line of a lock, and notes what is to be done with its keys. */
  public Line read(LockKey key, Deadline deadline) throws StoreException {
    String folder = keys.line(key);
    return read(List.of(folder), deadline).getOrDefault(folder, new Line(List.of()));
  }

  /** Returns for how much longer this client has to see a place before it may end it. */
  private long leftNanos(Line.Place place, Line line) {
    Seen seen = timed.get(identity(place));
    if (line.hasRunOut(place) || (place.isOrphan() && witnessedEnds.contains(place))) {
      return 0;
    }
    return seen == null ? place.nanos() : seen.untilNanos() - time.nanos();
  }

  /** Returns what is known of a place that has the lock. */
  public StoredHolder holder(Line.Place place, Line line) {
    Mark mark = place.mark();
    Duration left = Duration.ofMillis(mark.millis()).multipliedBy(TTLS_OF_A_CRASH);
    if (place.isTimed()) {
      left = Duration.ofNanos(Math.max(0, leftNanos(place, line)));
    }
    return new StoredHolder(place.number(), mark.holder(), mark.since(), left, mark.released());
  }

  /**
   * Ends those at the front of a line that are timed and whose time is over: this client has seen
   * them for long enough, a countdown has run out, or the end of their session is witnessed.
   *
   * @param shared whether a reader waits for it
   * @return the nanoseconds for which those that it waits for must still be left alone;
   *     {@link Long#MAX_VALUE}: none is timed, so somebody has the lock; zero or less: one is
   *     ended, has changed, or is over by now, and the line must be read again
   */
  public long endIfOver(Line line, boolean shared, Deadline deadline) throws StoreException {
    List<Line.Place> awaited = line.timedAtFront(shared);
    for (Line.Place place : awaited) {
      if (place.isOrphan() && leftNanos(place, line) > 0) {
        witnessedEnds.look(place, deadline);
      }
    }
    if (line.timedAtFront(false).stream().anyMatch(place -> leftNanos(place, line) <= 0)) {
      // With all others whose time is over: a process that died can have left many.
      end(line.timed().stream().filter(place -> leftNanos(place, line) <= 0).toList(), deadline);
      return 0;
    }
    return awaited.stream().mapToLong(place -> leftNanos(place, line)).min().orElse(Long.MAX_VALUE);
  }

  private void endSeen(List<Seen> seen) throws StoreException {
    List<Line.Place> over =
        seen.stream().map(Seen::place).filter(place -> !place.hasSession()).toList();
    end(over, http.deadline());
  }

  /** Marks places as over. The caller must be certain that they are. */
  public void end(List<Line.Place> over, Deadline deadline) throws StoreException {
    for (List<Line.Place> some : Transaction.parts(over)) {
      // A key with a session is not deleted here: its client's next attempt may use it.
      transact(some, (end, place) -> place.addEndTo(end), deadline).stream()
          .filter(entry -> entry.session().isEmpty())
          .forEach(this::addUseless);
      some.forEach(place -> timed.remove(identity(place)));
    }
  }

  /** Deletes keys, except those that somebody wrote to since. */
  public void delete(List<Entry> entries, Deadline deadline) throws StoreException {
    for (List<Entry> some : Transaction.parts(entries)) {
      List<Entry> unused = transact(
          some, (delete, entry) -> delete.deleteAt(entry.key(), entry.modifyIndex()), deadline);
    }
  }

  /**
   * Deletes the keys of no use, due or not, from lines without places. In other lines a waiter may
   * still have to see them, and deletes them later.
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

  /**
   * Carries out an operation for each element, except those whose keys somebody wrote to since, and
   * returns the keys as they are then.
   */
  private <T> List<Entry> transact(
      List<T> all, BiConsumer<Transaction, T> operation, Deadline deadline) throws StoreException {
    List<T> left = new ArrayList<>(all);
    while (!left.isEmpty()) {
      Transaction transaction = new Transaction();
      left.forEach(one -> operation.accept(transaction, one));
      Outcome outcome = http.transact(transaction, deadline);
      if (outcome.isApplied()) {
        return outcome.entries();
      }
      List<T> asked = List.copyOf(left);
      for (Outcome.Failure failure : outcome.failures()) {
        // Whoever next sees that key judges it anew.
        left.remove(asked.get((int) failure.operation()));
      }
    }
    return List.of();
  }

  /**
   * Deletes the own keys of sessions that have ended, and reads all lines, to note what processes
   * left there that died, or ended during a minimum hold. Without a sweep that would stay if nobody
   * asked for those locks again.
   */
  private void sweep() throws StoreException {
    // If this fails, it is tried again after a minute.
    sweep.put(SWEEP, SWEEP, time.nanos() + MINUTE_NANOS);
    List<Entry> ended = http.read(new Transaction().tree(keys.sessions()), http.deadline()).stream()
        .filter(entry -> entry.session().isEmpty())
        .toList();
    Set<Long> orphaned = new HashSet<>();
    List<String> lines = http.keys(keys.lines(LockKind.MUTEX, ""), http.deadline());
    for (List<String> some : Transaction.parts(lines)) {
      read(some, http.deadline()).values().stream()
          .flatMap(line -> line.orphans().stream())
          .forEach(orphan -> orphaned.add(orphan.entry().modifyIndex()));
    }
    // The own keys of an orphan's session may still have to tell that its time is over.
    Set<String> kept = ended.stream()
        .filter(entry -> orphaned.contains(entry.modifyIndex()))
        .map(entry -> Keys.sessionOf(entry.key()))
        .collect(Collectors.toSet());
    delete(
        ended.stream()
            .filter(entry -> !kept.contains(Keys.sessionOf(entry.key())))
            .toList(),
        http.deadline());
    sweep.put(SWEEP, SWEEP, time.nanos() + SWEEP_NANOS + random(SWEEP_NANOS));
  }

  /**
   * Begins a countdown for a line with a key at its front that has no session, unless there is one,
   * since this client may be closed before the time of that place is over. It is begun in the
   * background: no answer to a caller depends on it.
   */
  public void countDown(Line line) {
    if (!line.uncounted().isEmpty()) {
      uncounted.add(folder(line), line, time.nanos());
    }
  }

  private static String folder(Line line) {
    return Keys.lineOf(line.first().entry().key());
  }

  /**
   * Begins all countdowns that were asked for, even those that another thread is just beginning.
   */
  public void beginCountdowns(Deadline deadline) {
    uncounted.all().forEach(one -> beginOrLog(one, deadline));
  }

  /** Begins a countdown. If that fails, the next client that finds the line does it. */
  private void beginOrLog(Line line, Deadline deadline) {
    try {
      begin(line, deadline);
    } catch (StoreException | RuntimeException e) {
      log.debug("Not counted down: {}", folder(line), e);
    }
  }

  private void begin(Line line, Deadline deadline) throws StoreException {
    long ttlSeconds = ttlSeconds(line.uncounted());
    String one;
    try {
      one = requests.createTimer(ttlSeconds, "", deadline);
    } catch (StoreException e) {
      if (e.mayHaveHappened() || ttlSeconds >= requests.acceptedSeconds()) {
        throw e;
      }
      // The server's session_ttl_min can be higher than a minimum hold.
      ttlSeconds = requests.acceptedSeconds();
      one = requests.createTimer(ttlSeconds, "", deadline);
    }
    // Both must be on one node, and the address may be that of many agents.
    String other = requests.createTimer(ttlSeconds, requests.node(one, deadline), deadline);
    String text = Countdown.text(ttlSeconds, line.newestTimed());
    String folder = folder(line);
    Transaction begin = new Transaction();
    line.countdownParts().forEach(part -> begin.deleteAt(part.key(), part.modifyIndex()));
    begin
        .checkNotExists(keys.countdown(folder, 1))
        .checkNotExists(keys.countdown(folder, 2))
        .lock(keys.countdown(folder, 1), text, one)
        .lock(keys.countdown(folder, 2), text, other);
    // If another client was faster, its countdown goes on. The sessions are not destroyed then: the
    // request may have been sent twice, and the first one have got through.
    Outcome outcome = http.transact(begin, deadline);
    log.debug("Counting down {}: {}", folder, outcome);
  }

  /**
   * Returns the TTL of a countdown for some places: the shortest that is long enough, since Consul
   * can take twice a TTL.
   */
  private static long ttlSeconds(List<Line.Place> timed) {
    long nanos = timed.stream().mapToLong(Line.Place::nanos).max().orElse(0);
    long seconds = TimeUnit.NANOSECONDS.toSeconds(nanos + 999_999_999);
    return Math.min(
        SessionRequests.TTL_SECONDS_MAX, Math.max(SessionRequests.TTL_SECONDS_MIN, seconds));
  }
}
