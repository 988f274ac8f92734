package io.holdfast.lock.consul.classic;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.http.Transaction;
import io.holdfast.lock.consul.line.Line;
import io.holdfast.lock.consul.line.Mark;
import io.holdfast.lock.consul.line.Orphans;
import io.holdfast.lock.consul.session.Attempt;
import io.holdfast.lock.consul.session.ConsulGrant;
import io.holdfast.lock.consul.session.Session;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreEvents;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * The protocol that {@code consul lock} and many others have: one key for each lock, locked by
 * whoever comes first when it is free. A session may lock its own key again, so each attempt has a
 * session of its own: then a key that has the session is the attempt's, and no one else's.
 */
public final class ClassicStore implements LockStore {
  /** By which {@code consul lock} knows its keys: {@code api.LockFlagValue}. */
  private static final long FLAGS = 0x2ddccbc058a50c18L;

  /** After so many TTLs a session has ended that nobody renews. */
  private static final int TTLS_OF_A_CRASH = 2;

  private final ConsulHttp http;
  private final ClassicKeys keys;
  private final StoreEvents events;
  private final TimeSource time;
  private final ClassicSessions sessions;

  /** The marks of minimum holds: whose process ended can't remove its own. */
  private final Orphans marks;

  /**
   * @param http is closed with this store
   * @param lockDelay null: as long as a holder can believe in a lease whose session has ended
   */
  public ClassicStore(
      ConsulHttp http, String prefix, @Nullable Duration lockDelay, StoreSettings settings) {
    this.http = http;
    keys = new ClassicKeys(prefix);
    events = settings.events();
    time = settings.time();
    marks = new Orphans(
        http, time, (end, mark) -> end.deleteAt(mark.entry().key(), mark.entry().modifyIndex()));
    sessions = new ClassicSessions(http, keys, lockDelay, marks, settings);
  }

  ConsulHttp http() {
    return http;
  }

  ClassicSessions sessions() {
    return sessions;
  }

  // ---- acquire ----

  @Override
  public void checkOptions(LockOptions options) {
    Session.checkOptions(options);
  }

  @Override
  public void checkKind(LockKind kind) {
    if (kind != LockKind.MUTEX) {
      throw new UnsupportedOperationException(
          "ConsulLocks.classic has the lock with one holder at a"
              + " time, get(name), and no others, for good: its one key per name has one holder. Use"
              + " another store");
    }
  }

  @Override
  public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
    Deadline deadline = http.deadline();
    if (look(claim.key(), deadline) instanceof Look.Taken) {
      return Optional.empty();
    }
    Attempt attempt = sessions.begin(claim, deadline);
    try {
      if (ask(attempt, deadline) instanceof Answer.Yes yes) {
        return Optional.of(yes.grant());
      }
    } catch (StoreException e) {
      if (!e.mayHaveHappened()) {
        sessions.abandon(attempt, deadline);
      }
      throw e;
    }
    sessions.abandon(attempt, deadline);
    return Optional.empty();
  }

  @Override
  public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
    ClassicTicket ticket = new ClassicTicket(this, claim, wakeUp);
    try {
      Ticket.Status status = ticket.poll();
      if (status instanceof Ticket.Granted granted) {
        return new Acquisition.Granted(granted.grant());
      }
      return new Acquisition.Queued(ticket, ((Ticket.Waiting) status).recheckAfter());
    } catch (StoreException e) {
      ticket.close();
      throw e;
    }
  }

  /** The state of a lock's key, for an attempt that wants it. */
  sealed interface Look {
    /** Nobody has it, though it may be in its lock-delay. */
    record Free() implements Look {}

    /**
     * Somebody has it.
     *
     * @param markLeft if it is a mark of a minimum hold, for how long it is to be left alone
     */
    record Taken(Entry entry, @Nullable Duration markLeft) implements Look {}
  }

  Look look(LockKey key, Deadline deadline) throws StoreException {
    while (true) {
      Entry entry = http.readKey(keys.key(key), deadline);
      if (entry == null || entry.session().isEmpty()) {
        if (entry != null && entry.flags() != 0 && entry.flags() != FLAGS) {
          throw StoreException.refused(
              "The key "
                  + entry.key()
                  + " is used for something else: its flags are "
                  + Long.toUnsignedString(entry.flags())
                  + "; choose another prefix, or delete it",
              null);
        }
        return new Look.Free();
      }
      Line.Place place = Line.Place.of(entry, Mark.of(entry));
      if (!place.mark().released()) {
        return new Look.Taken(entry, null);
      }
      long leftNanos = marks.clear(place, deadline);
      if (leftNanos > 0) {
        return new Look.Taken(entry, Duration.ofNanos(leftNanos));
      }
    }
  }

  /** The outcome of asking for a key. */
  sealed interface Answer {
    /** The lock is the attempt's. */
    record Yes(ConsulGrant grant) implements Answer {}

    /** Somebody else was faster. */
    record No() implements Answer {}

    /** Somebody's session ended while it had the key, and nobody may have it for a while. */
    record NotYet() implements Answer {}

    /** The attempt's session has ended. */
    record SessionGone() implements Answer {}
  }

  Answer ask(Attempt attempt, Deadline deadline) throws StoreException {
    Session session = attempt.session();
    long sentNanos = time.nanos();
    ConsulHttp.Outcome outcome = http.transact(
        new Transaction()
            // The same text each time, so that a request that is sent twice changes nothing.
            .lock(attempt.key(), attempt.mark().text(), FLAGS, session.id()),
        deadline);
    if (outcome instanceof ConsulHttp.Outcome.Applied applied) {
      for (Entry entry : applied.entries()) {
        if (entry.key().equals(attempt.key())) {
          // The index rises whatever becomes of the key; how often it was locked does not.
          attempt.joined(entry.modifyIndex());
          ConsulGrant grant = attempt.hold(sentNanos, sentNanos);
          // Whoever finds the session gone either sees the grant, and tells, or is seen here.
          return grant == null || session.isLost()
              ? new Answer.SessionGone()
              : new Answer.Yes(grant);
        }
      }
      throw StoreException.unanswered("Consul locked a key and did not say which", null);
    }
    String what = ((ConsulHttp.Outcome.Failed) outcome).what();
    if (outcome.resent()) {
      throw StoreException.unanswered(
          "Consul did not answer the first time, and then: " + what, null);
    } else if (what.contains("lock is already held")) {
      return new Answer.No();
    } else if (what.contains("lock delay")) {
      return new Answer.NotYet();
    } else if (what.contains("invalid session")) {
      sessions.forget(attempt);
      return new Answer.SessionGone();
    }
    throw StoreException.refused("Consul refused: " + what, null);
  }

  // ---- release ----

  @Override
  public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
    Attempt attempt = ((ConsulGrant) grant).attempt();
    Deadline deadline = http.deadline();
    long leftNanos = attempt.leftNanos(time.nanos());
    ConsulHttp.Outcome outcome;
    try {
      outcome = holdFor.isZero()
          ? sessions.deleteOwn(attempt, deadline)
          : http.transact(
              new Transaction()
                  .checkSession(attempt.key(), attempt.session().id())
                  .lock(
                      attempt.key(),
                      attempt.releasedMark(attempt.number(), holdFor.toNanos()).text(),
                      FLAGS,
                      attempt.session().id()),
              deadline);
    } catch (StoreException e) {
      if (e.mayHaveHappened()) {
        attempt.noteRelease();
      }
      throw e;
    }
    if (outcome instanceof ConsulHttp.Outcome.Applied && !holdFor.isZero()) {
      sessions.deleteAfter(attempt, holdFor);
      return ReleaseOutcome.RELEASED;
    }
    // Only now: the end of a session that has a key delays whoever comes next.
    sessions.abandon(attempt, deadline);
    if (outcome instanceof ConsulHttp.Outcome.Failed) {
      // One that got through before is no loss, if nobody else can have ended it since.
      return (attempt.mayBeReleased() || outcome.resent()) && leftNanos > 0
          ? ReleaseOutcome.RELEASED
          : ReleaseOutcome.ALREADY_LOST;
    }
    return ReleaseOutcome.RELEASED;
  }

  @Override
  public void withdraw(Claim claim) throws StoreException {
    Attempt attempt = sessions.attempt(claim);
    if (attempt != null) {
      sessions.leave(attempt, http.deadline());
    }
  }

  // ---- renew ----

  @Override
  public Object renewalGroup(Grant grant) {
    return ((ConsulGrant) grant).attempt().session();
  }

  @Override
  public List<Renewal> renew(List<Grant> grants) throws StoreException {
    Deadline deadline = http.deadline();
    ConsulGrant grant = (ConsulGrant) grants.get(0);
    Attempt attempt = grant.attempt();
    long sentNanos = time.nanos();
    // The session may live and the key be gone: taken by force.
    if (!sessions.renew(attempt, deadline)) {
      return List.of(new Renewal.Lost());
    }
    if (!isHolder(grant, deadline)) {
      events.lost(grant, LeaseLoss.Reason.TAKEN);
      sessions.forget(attempt);
      sessions.deleteAfter(attempt, Duration.ZERO);
      return List.of(new Renewal.Lost());
    }
    Optional<Duration> validFor = attempt.extend(sentNanos, attempt.claim().ttl(), time.nanos());
    return List.of(validFor.isPresent() ? new Renewal.Renewed(validFor.get()) : new Renewal.Lost());
  }

  /** Whoever writes to the key takes it away: it could be another grant of the same session. */
  private boolean isHolder(ConsulGrant grant, Deadline deadline) throws StoreException {
    Entry entry = http.readKey(grant.attempt().key(), deadline);
    return entry != null
        && entry.session().equals(grant.attempt().session().id())
        && entry.modifyIndex() == grant.number();
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
    Deadline deadline = http.deadline();
    // Only a session that was just renewed is known to last for longer.
    return sessions.renew(attempt, deadline) && isHolder(grant, deadline)
        ? attempt.extend(sentNanos, ttl, time.nanos())
        : Optional.empty();
  }

  // ---- others' locks ----

  @Override
  public Optional<StoredHolder> inspect(LockKey key) throws StoreException {
    Entry entry = http.readKey(keys.key(key), http.deadline());
    if (entry == null || entry.session().isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(holder(entry));
  }

  private StoredHolder holder(Entry entry) {
    return marks.holder(Line.Place.of(entry, Mark.of(entry)), describe(entry), TTLS_OF_A_CRASH);
  }

  /** Asks for the keys first, of which most may be something else, since Consul has no pages. */
  @Override
  public List<StoredLock> list(LockKind kind, String namePrefix, int limit) throws StoreException {
    Deadline deadline = http.deadline();
    List<LockKey> locks = http.keys(keys.all(namePrefix), "", deadline).stream()
        .map(key -> keys.lock(kind, key))
        .flatMap(Optional::stream)
        .filter(lock -> lock.name().startsWith(namePrefix))
        .toList();
    List<StoredLock> held = new ArrayList<>();
    for (int from = 0; from < locks.size() && held.size() < limit; ) {
      int to =
          Math.min(locks.size(), from + Math.min(Transaction.OPERATIONS_MAX, limit - held.size()));
      Transaction look = new Transaction();
      Map<String, LockKey> wanted = new HashMap<>();
      for (LockKey lock : locks.subList(from, to)) {
        look.tree(keys.key(lock));
        wanted.put(keys.key(lock), lock);
      }
      from = to;
      for (Entry entry : http.read(look, deadline)) {
        // What else begins so is not meant, or is told of twice.
        LockKey lock = wanted.remove(entry.key());
        if (lock != null && !entry.session().isEmpty()) {
          held.add(new StoredLock(lock, holder(entry), OptionalInt.empty()));
        }
      }
    }
    return held;
  }

  /** Others may have written anything, or nothing. */
  static String describe(Entry entry) {
    String holder = Mark.of(entry).holder();
    if (holder.isBlank()) {
      return "session " + entry.session();
    }
    return holder.length() <= Claim.HOLDER_LENGTH_MAX
        ? holder
        : holder.substring(0, Claim.HOLDER_LENGTH_MAX);
  }

  @Override
  public boolean forceRelease(LockKey key, long number) throws StoreException {
    Deadline deadline = http.deadline();
    while (true) {
      Entry entry = http.readKey(keys.key(key), deadline);
      if (entry == null
          || entry.session().isEmpty()
          || Line.Place.of(entry, Mark.of(entry)).number() != number) {
        return false;
      }
      ConsulHttp.Outcome outcome =
          http.transact(new Transaction().deleteAt(entry.key(), entry.modifyIndex()), deadline);
      if (outcome instanceof ConsulHttp.Outcome.Applied) {
        return true;
      }
      if (outcome.resent()) {
        throw StoreException.unanswered("Consul did not answer the first time", null);
      }
    }
  }

  @Override
  public void close() {
    sessions.close();
    http.close();
  }
}
