package io.holdfast.lock.consul.line;

import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.http.LongPoll;
import io.holdfast.lock.consul.http.Transaction;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * Keys that this client has seen, and since when: {@linkplain Line orphans}, whose holders may go
 * on for a session's TTL, marks of minimum holds, and keys that are of no use any more. It ends the
 * ones and deletes the others when their time has come, whether anybody still wants the lock or
 * not. Thread-safe.
 */
public final class Orphans {
  /**
   * For how long a key whose attempt is over stays, for the next attempt, and for whoever waits and
   * has to see that it is over: longer than until that one looks.
   */
  public static final long KEPT_NANOS = LongPoll.RECHECK_AFTER.plusSeconds(2).toNanos();

  private static final long FORGOTTEN_AFTER_NANOS = TimeUnit.MINUTES.toNanos(1);

  private final ConsulHttp http;
  private final TimeSource time;

  /** By what stays the same when a mark's session ends. */
  private final Map<Entry, Seen> seen = new ConcurrentHashMap<>();

  /** A place that time ends, as it was last seen, and when it was first. */
  private record Seen(Line.Place place, long sinceNanos) {}

  private final Map<Entry, Long> uselessNanos = new ConcurrentHashMap<>();

  public Orphans(ConsulHttp http, TimeSource time) {
    this.http = http;
    this.time = time;
  }

  /** Remembers what is to be waited out, and cleared away. */
  public void note(Line line) {
    line.timed().forEach(this::note);
    line.useless().forEach(this::addUseless);
  }

  /**
   * Reads lines together, and notes what is to be waited out and cleared away.
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

  private void note(Line.Place place) {
    seen.merge(
        identity(place),
        new Seen(place, time.nanos()),
        (before, now) -> new Seen(now.place(), before.sinceNanos()));
  }

  /**
   * Returns what stays the same when a minimum hold's session ends; a lease's time begins only
   * then.
   */
  private static Entry identity(Line.Place place) {
    Entry entry = place.entry();
    return place.mark().released()
        ? new Entry(entry.key(), entry.value(), "", 0, entry.createIndex(), 0)
        : entry;
  }

  /** A key that nobody has a use for any more, but those who have to see yet that it is over. */
  public void addUseless(Entry entry) {
    uselessNanos.putIfAbsent(entry, time.nanos());
  }

  /** For how long a place is to be left alone yet, by what this client has seen. */
  private long leftNanos(Line.Place place) {
    long nowNanos = time.nanos();
    Seen since = seen.get(identity(place));
    return waitNanos(place) - (since == null ? 0 : nowNanos - since.sinceNanos());
  }

  private long leftNanos(Line.Place place, Line line) {
    return line.hasRunOut(place) ? 0 : leftNanos(place);
  }

  private static long waitNanos(Line.Place place) {
    return TimeUnit.MILLISECONDS.toNanos(place.millis());
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

  /** Ends places whose time is over for certain. */
  public void end(List<Line.Place> over, Deadline deadline) throws StoreException {
    transactEach(
        over, (end, place) -> place.end(end), place -> seen.remove(identity(place)), deadline);
  }

  /** Deletes keys as they are, and leaves those alone that somebody wrote to. */
  public void delete(List<Entry> useless, Deadline deadline) throws StoreException {
    transactEach(
        useless,
        (delete, entry) -> delete.deleteAt(entry.key(), entry.modifyIndex()),
        uselessNanos::remove,
        deadline);
  }

  /** Does that with each key that nobody else wrote to, and forgets all of them. */
  private <T> void transactEach(
      List<T> all, BiConsumer<Transaction, T> operation, Consumer<T> forget, Deadline deadline)
      throws StoreException {
    for (List<T> some : Transaction.parts(all)) {
      List<T> left = new ArrayList<>(some);
      while (!left.isEmpty()) {
        Transaction transaction = new Transaction();
        left.forEach(one -> operation.accept(transaction, one));
        ConsulHttp.Outcome outcome = http.transact(transaction, deadline);
        List<T> done = new ArrayList<>(left);
        if (outcome instanceof ConsulHttp.Outcome.Applied applied) {
          // What a session has is its client's, which may have the next attempt at that key.
          applied.entries().stream()
              .filter(entry -> entry.session().isEmpty())
              .forEach(this::addUseless);
        } else if (outcome instanceof ConsulHttp.Outcome.Failed failed) {
          done = stale(left, failed);
        }
        done.forEach(forget);
        left.removeAll(done);
      }
    }
  }

  /** Those whose operation failed since somebody was faster: whoever sees them next begins anew. */
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

  public boolean isSomethingDue() {
    return seen.values().stream().anyMatch(this::isDue)
        || uselessNanos.values().stream().anyMatch(this::isUnused);
  }

  private boolean isDue(Seen one) {
    // A living client ends its mark itself; this one only forgets it.
    long moreNanos = one.place().hasSession() ? FORGOTTEN_AFTER_NANOS : 0;
    return time.nanos() - one.sinceNanos() >= waitNanos(one.place()) + moreNanos;
  }

  private boolean isUnused(long sinceNanos) {
    return time.nanos() - sinceNanos >= KEPT_NANOS;
  }

  /** Forgets what others should have ended long ago. */
  public void forgetOld() {
    seen.values().removeIf(one -> one.place().hasSession() && isDue(one));
  }

  /** Ends what this client has seen for long enough. */
  public void endDue(Deadline deadline) throws StoreException {
    forgetOld();
    end(seen.values().stream().filter(this::isDue).map(Seen::place).toList(), deadline);
  }

  /** Deletes what has been of no use for a while. */
  public void deleteDue(Deadline deadline) throws StoreException {
    delete(
        uselessNanos.entrySet().stream()
            .filter(one -> isUnused(one.getValue()))
            .map(Map.Entry::getKey)
            .toList(),
        deadline);
  }

  /**
   * Deletes what is of no use, due or not, from lines in which nobody is: whoever waits may have to
   * see yet that those before it are over, and deletes their keys later.
   */
  public void deleteUseless(Deadline deadline) throws StoreException {
    List<String> folders = uselessNanos.keySet().stream()
        .map(entry -> Keys.lineOf(entry.key()))
        .distinct()
        .toList();
    for (List<String> some : Transaction.parts(folders)) {
      List<Entry> useless = read(some, deadline).values().stream()
          .filter(Line::isEmpty)
          .flatMap(line -> line.useless().stream())
          .toList();
      delete(useless, deadline);
    }
  }
}
