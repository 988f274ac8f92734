package io.holdfast.lock.consul;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The protocol on Consul's keys. Each attempt has a key of its own under the lock's folder, tied to
 * a session of its client; the key that was made first has the lock. So nobody's key is ever
 * written by two, and the index at which a key was made is the grant's number.
 */
final class ConsulStore implements LockStore {
  private final ConsulHttp http;
  private final Keys keys;
  private final Sessions sessions;
  private final TimeSource time;
  private final Marks marks;

  /**
   * How much longer than twice its TTL a withdrawn attempt is remembered: the engine comes back.
   */
  private static final long WITHDRAWN_KEPT_NANOS = TimeUnit.MINUTES.toNanos(2);

  /** Attempts that may have a key, by their claims' owner ids. */
  private final Map<String, Attempt> attempts = new ConcurrentHashMap<>();

  /** Keys of attempts that were withdrawn, by their claims' owner ids. */
  private final Map<String, Withdrawn> withdrawn = new ConcurrentHashMap<>();

  /** A key for which a request may still be on its way. */
  private record Withdrawn(String key, long untilNanos) {}

  ConsulStore(ConsulHttp.Settings http, String prefix, StoreSettings settings) {
    this.http = new ConsulHttp(http, "holdfast-" + settings.clientName() + "-consul");
    keys = new Keys(prefix);
    time = settings.time();
    marks = new Marks(this.http, time);
    sessions = new Sessions(this.http, keys, settings);
  }

  ConsulHttp http() {
    return http;
  }

  Session.Sent now() {
    return Session.Sent.now(time);
  }

  Marks marks() {
    return marks;
  }

  Sessions sessions() {
    return sessions;
  }

  /** Makes sure that there is a Consul that lets this client read its keys. */
  void probe() throws StoreException {
    List<Entry> unused =
        http.read(new Transaction().tree(keys.prefix() + "/probe/"), sessions.deadline());
  }

  @Override
  public void checkOptions(LockOptions options) {
    Session.checkOptions(options);
  }

  @Override
  public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
    Deadline deadline = sessions.deadline();
    Joined joined = join(claim, deadline);
    if (joined.grant() != null) {
      return Optional.of(joined.grant());
    }
    try {
      leave(joined.attempt(), deadline);
    } catch (StoreException e) {
      throw afterJoining(e);
    }
    return Optional.empty();
  }

  @Override
  public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
    Joined joined = join(claim, sessions.deadline());
    if (joined.grant() != null) {
      return new Acquisition.Granted(joined.grant());
    }
    joined.attempt().onNews(wakeUp);
    ConsulTicket ticket = new ConsulTicket(this, joined.attempt(), wakeUp);
    return new Acquisition.Queued(ticket, ticket.wait(joined.line(), joined.looks()));
  }

  /**
   * An attempt's place in its line: the first has the lock.
   *
   * @param looks what {@link Session#looks} was before
   */
  private record Joined(
      Attempt attempt,
      List<Entry> line,
      int looks,
      @Nullable ConsulGrant grant) {}

  private Joined join(Claim claim, Deadline deadline) throws StoreException {
    for (boolean again = false; ; again = true) {
      Attempt attempt = sessions.register(claim, deadline);
      attempts.put(claim.ownerId(), attempt);
      int looks = attempt.session().looks();
      long sentNanos = time.nanos();
      ConsulHttp.Outcome outcome;
      try {
        outcome = http.transact(
            new Transaction()
                .lock(
                    attempt.key(),
                    Mark.attempt(attempt).text(),
                    attempt.session().id())
                .tree(keys.line(claim.key())),
            deadline);
      } catch (StoreException e) {
        attempt.spoilKey();
        if (!e.mayHaveHappened()) {
          drop(attempt);
        }
        throw e;
      }
      if (outcome.resent()) {
        attempt.spoilKey();
      }
      if (outcome instanceof ConsulHttp.Outcome.Applied applied) {
        return place(attempt, inOrder(applied.entries()), looks, sentNanos, deadline);
      }
      drop(attempt);
      String what = ((ConsulHttp.Outcome.Failed) outcome).what();
      if (!what.contains("invalid session")) {
        throw StoreException.refused("Consul refused: " + what, null);
      }
      sessions.lost(attempt.session());
      if (again) {
        throw StoreException.refused(
            "A session ended as soon as it was made",
            new ConsulException(ConsulException.Problem.SESSION_GONE, 409, what));
      }
    }
  }

  private Joined place(
      Attempt attempt, List<Entry> inLine, int looksBefore, long joinedNanos, Deadline deadline)
      throws StoreException {
    List<Entry> line = inLine;
    int looks = looksBefore;
    long sentNanos = joinedNanos;
    try {
      // A mark that is removed here, or a look for what was taken by force, takes another reading.
      while (true) {
        // Empty if the session has ended in between.
        if (line.isEmpty()) {
          return new Joined(attempt, line, looks, null);
        }
        Entry first = line.get(0);
        if (first.key().equals(attempt.key())) {
          ConsulGrant grant = attempt.hold(first.createIndex(), sentNanos);
          if (attempt.session().isLost()) {
            throw StoreException.unanswered("The session ended while it was given the lock", null);
          }
          if (attempt.session().looks() == looks) {
            return new Joined(attempt, line, looks, grant);
          }
        } else {
          Mark mark = Mark.parse(first.value());
          if (!mark.released() || marks.clear(first, mark, deadline) > 0) {
            return new Joined(attempt, line, looks, null);
          }
        }
        looks = attempt.session().looks();
        sentNanos = time.nanos();
        line = line(attempt, deadline);
      }
    } catch (StoreException e) {
      throw afterJoining(e);
    }
  }

  /** The place in the line is still there, so the claim must be withdrawn whatever failed. */
  private static StoreException afterJoining(StoreException e) {
    return e.mayHaveHappened() ? e : StoreException.unanswered(String.valueOf(e.getMessage()), e);
  }

  static List<Entry> inOrder(List<Entry> entries) {
    return entries.stream()
        .filter(entry -> !entry.session().isEmpty())
        .sorted(Comparator.comparingLong(Entry::createIndex))
        .toList();
  }

  private List<Entry> line(LockKey key, Deadline deadline) throws StoreException {
    return inOrder(http.read(new Transaction().tree(keys.line(key)), deadline));
  }

  List<Entry> line(Attempt attempt, Deadline deadline) throws StoreException {
    return line(attempt.claim().key(), deadline);
  }

  private void drop(Attempt attempt) {
    attempts.remove(attempt.claim().ownerId());
    sessions.forget(attempt);
  }

  /**
   * Takes an attempt's key away, whatever it is by now. May be done twice, also at once; but once
   * another attempt may have the key, nothing is left to do.
   */
  void leave(Attempt attempt, Deadline deadline) throws StoreException {
    if (attempt.isKeyGiven()) {
      return;
    }
    boolean clean = false;
    try {
      clean = !delete(attempt.key(), deadline).resent();
    } finally {
      if (!clean) {
        attempt.spoilKey();
      }
    }
    drop(attempt);
    sessions.spare(attempt);
    if (attempt.session().isOwn()) {
      sessions.end(attempt.session(), deadline);
    }
  }

  void gone(Attempt attempt) {
    drop(attempt);
  }

  private ConsulHttp.Outcome delete(String key, Deadline deadline) throws StoreException {
    ConsulHttp.Outcome outcome = http.transact(new Transaction().delete(key), deadline);
    if (outcome instanceof ConsulHttp.Outcome.Failed failed) {
      throw StoreException.refused("Consul deleted nothing: " + failed.what(), null);
    }
    return outcome;
  }

  @Override
  public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
    Attempt attempt = ((ConsulGrant) grant).attempt();
    Deadline deadline = sessions.deadline();
    String session = attempt.session().id();
    long leftNanos = attempt.leftNanos(time.nanos());
    Transaction transaction = new Transaction().checkSession(attempt.key(), session);
    if (holdFor.isZero()) {
      transaction.delete(attempt.key());
    } else {
      transaction.lock(attempt.key(), Mark.released(attempt, holdFor.toNanos()).text(), session);
    }
    ConsulHttp.Outcome outcome;
    try {
      outcome = http.transact(transaction, deadline);
    } catch (StoreException e) {
      if (e.mayHaveHappened()) {
        attempt.noteRelease();
      }
      throw e;
    }
    if (outcome.resent()) {
      attempt.spoilKey();
    }
    drop(attempt);
    if (outcome instanceof ConsulHttp.Outcome.Failed) {
      // One that got through before is no loss, if nobody else can have ended it since.
      return (attempt.mayBeReleased() || outcome.resent()) && leftNanos > 0
          ? ReleaseOutcome.RELEASED
          : ReleaseOutcome.ALREADY_LOST;
    }
    if (!holdFor.isZero()) {
      sessions.deleteAfter(attempt, holdFor.toNanos());
    } else if (attempt.session().isOwn()) {
      sessions.end(attempt.session(), deadline);
    } else {
      sessions.spare(attempt);
    }
    return ReleaseOutcome.RELEASED;
  }

  @Override
  public void withdraw(Claim claim) throws StoreException {
    Deadline deadline = sessions.deadline();
    Attempt attempt = attempts.get(claim.ownerId());
    if (attempt != null) {
      // So that its key is not given away from now on, while it is being deleted here.
      attempt.spoilKey();
      if (!attempt.isKeyGiven()) {
        remember(attempt);
        leave(attempt, deadline);
      }
      return;
    }
    // Its request may have arrived since it was withdrawn the last time. Who is not remembered has
    // left for certain, and its key may be another attempt's.
    Withdrawn before = withdrawn.get(claim.ownerId());
    if (before != null) {
      ConsulHttp.Outcome unused = delete(before.key(), deadline);
    }
  }

  private void remember(Attempt attempt) {
    long nowNanos = time.nanos();
    withdrawn.values().removeIf(old -> nowNanos - old.untilNanos() > 0);
    withdrawn.put(
        attempt.claim().ownerId(),
        new Withdrawn(
            attempt.key(), nowNanos + 2 * attempt.claim().ttl().toNanos() + WITHDRAWN_KEPT_NANOS));
  }

  @Override
  public Object renewalGroup(Grant grant) {
    return ((ConsulGrant) grant).attempt().session();
  }

  @Override
  public List<Renewal> renew(List<Grant> grants) throws StoreException {
    Deadline deadline = sessions.deadline();
    long sentNanos = time.nanos();
    Session session = ((ConsulGrant) grants.get(0)).attempt().session();
    boolean lives = sessions.renew(session, deadline);
    if (lives) {
      sessions.lookForForce(session, deadline);
    }
    List<Renewal> results = new ArrayList<>(grants.size());
    for (Grant grant : grants) {
      Attempt attempt = ((ConsulGrant) grant).attempt();
      Optional<Duration> validFor =
          lives ? attempt.extend(sentNanos, attempt.claim().ttl(), time.nanos()) : Optional.empty();
      results.add(validFor.isPresent() ? new Renewal.Renewed(validFor.get()) : new Renewal.Lost());
    }
    return results;
  }

  @Override
  public Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException {
    return confirm((ConsulGrant) grant, ttl);
  }

  @Override
  public Optional<Duration> verify(Grant grant) throws StoreException {
    return confirm((ConsulGrant) grant, Duration.ZERO);
  }

  /**
   * Asks whether the grant has the lock, and keeps it for at least that long if so. Consul knows
   * nothing of a lease's end: this client deletes the key then.
   */
  private Optional<Duration> confirm(ConsulGrant grant, Duration ttl) throws StoreException {
    long sentNanos = time.nanos();
    Attempt attempt = grant.attempt();
    Deadline deadline = sessions.deadline();
    // Only a session that was just renewed is known to last for longer.
    if (!sessions.renew(attempt.session(), deadline)) {
      return Optional.empty();
    }
    List<Entry> own = http.read(new Transaction().tree(attempt.key()), deadline);
    return own.size() == 1
            && own.get(0).session().equals(attempt.session().id())
            && own.get(0).createIndex() == grant.number()
        ? attempt.extend(sentNanos, ttl, time.nanos())
        : Optional.empty();
  }

  @Override
  public Optional<StoredHolder> inspect(LockKey key) throws StoreException {
    List<Entry> line = line(key, sessions.deadline());
    marks.forgetOld();
    return line.isEmpty() ? Optional.empty() : Optional.of(holder(line.get(0)));
  }

  private StoredHolder holder(Entry first) {
    return marks.holder(first, first.createIndex(), Mark.parse(first.value()).holder());
  }

  /** Asks for the names first: Consul has no pages, and their lines can be long. */
  @Override
  public List<StoredLock> list(LockKind kind, String namePrefix, int limit) throws StoreException {
    Deadline deadline = sessions.deadline();
    marks.forgetOld();
    Map<String, LockKey> locks = new LinkedHashMap<>();
    for (String line : http.keys(keys.lines(kind, namePrefix), "/", deadline)) {
      keys.lock(kind, line).ifPresent(lock -> locks.put(line, lock));
    }
    List<String> lines = List.copyOf(locks.keySet());
    List<StoredLock> held = new ArrayList<>();
    for (int from = 0; from < lines.size() && held.size() < limit; ) {
      int to =
          Math.min(lines.size(), from + Math.min(Transaction.OPERATIONS_MAX, limit - held.size()));
      Transaction look = new Transaction();
      lines.subList(from, to).forEach(look::tree);
      from = to;
      Map<String, List<Entry>> found = http.read(look, deadline).stream()
          .collect(Collectors.groupingBy(entry -> keys.lineOf(entry.key())));
      found.forEach((line, entries) -> {
        LockKey lock = locks.get(line);
        List<Entry> inOrder = inOrder(entries);
        if (lock != null && !inOrder.isEmpty()) {
          OptionalInt waiting = OptionalInt.of(inOrder.size() - 1);
          held.add(new StoredLock(lock, holder(inOrder.get(0)), waiting));
        }
      });
    }
    return held;
  }

  @Override
  public boolean forceRelease(LockKey key, long number) throws StoreException {
    Deadline deadline = sessions.deadline();
    while (true) {
      List<Entry> line = line(key, deadline);
      if (line.isEmpty() || line.get(0).createIndex() != number) {
        return false;
      }
      Entry first = line.get(0);
      ConsulHttp.Outcome outcome = http.transact(
          new Transaction()
              .deleteAt(first.key(), first.modifyIndex())
              // The number, or a second time at the same key would change nothing.
              .lock(
                  keys.session(first.session()),
                  "taken by force: " + first.key() + " " + number,
                  first.session()),
          deadline);
      if (outcome instanceof ConsulHttp.Outcome.Applied) {
        return true;
      }
      // It changed in between, or was just gone.
      if (outcome.resent()) {
        throw StoreException.unanswered("Consul did not answer the first time", null);
      }
    }
  }

  @Override
  public void close() {
    for (Attempt attempt : attempts.values()) {
      attempt.end();
    }
    sessions.close();
    http.close();
  }
}
