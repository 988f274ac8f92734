package io.holdfast.lock.consul.store;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.http.Outcome;
import io.holdfast.lock.consul.http.SessionRequests;
import io.holdfast.lock.consul.http.Transaction;
import io.holdfast.lock.consul.line.Keys;
import io.holdfast.lock.consul.line.Line;
import io.holdfast.lock.consul.line.LineCleanup;
import io.holdfast.lock.consul.session.Attempt;
import io.holdfast.lock.consul.session.ConsulGrant;
import io.holdfast.lock.consul.session.Session;
import io.holdfast.lock.consul.session.Sessions;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.ReadWriteStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The store on Consul. Each attempt to get a lock has a key in the lock's folder, locked by a
 * session of its client. The key that was locked first has the lock, if it is a reader's with all
 * readers' up to the first other one, and the Raft index at which a key was locked is the number of
 * the grant.
 *
 * <p>Each write that joins a line or gives up a place names the index at which the key was seen
 * (for a new key, that of the gate), so that it takes effect once, however often it is sent, and
 * never after another write. See docs/decisions/consul-a-key-for-each-attempt.md.
 */
public final class ConsulStore implements ReadWriteStore {
  /** The most attempts of one acquire: there is another if the session ends or the key changes. */
  private static final int ATTEMPTS_MAX = 3;

  private static final int LAST_TAKEN_MAX = 1_000;

  private final ConsulHttp http;
  private final Keys keys;
  private final Sessions sessions;
  private final TimeSource time;
  private final LongPolls longPolls;
  private final LineReads lineReads;

  private final Holders holders;

  /**
   * The locks that this client found taken when it last asked without waiting. The next time it
   * reads the line first: that is one read, where an attempt would be two writes.
   */
  private final Set<Asked> lastTaken = ConcurrentHashMap.newKeySet();

  private record Asked(LockKey key, Claim.Mode mode) {}

  /** @param http is closed with this store */
  public ConsulStore(ConsulHttp http, String prefix, StoreSettings settings) {
    this.http = http;
    keys = new Keys(prefix);
    time = settings.time();
    sessions = new Sessions(http, keys, settings);
    longPolls = new LongPolls(http);
    lineReads = new LineReads(http, sessions);
    holders = new Holders(http, keys, sessions.lineCleanup());
  }

  ConsulHttp http() {
    return http;
  }

  Session.Moment now() {
    return Session.Moment.now(time);
  }

  public Sessions sessions() {
    return sessions;
  }

  LongPolls longPolls() {
    return longPolls;
  }

  @Override
  public void checkOptions(LockOptions options) {
    checkLength("TTL", options.ttl());
    checkLength("minHold", options.minHold());
  }

  private static void checkLength(String what, Duration length) {
    if (length.compareTo(Duration.ofSeconds(SessionRequests.TTL_SECONDS_MAX)) > 0) {
      throw new IllegalArgumentException(
          ("A %s of %s is longer than Consul keeps a session: take 24 h at most (a renewed lease"
                  + " lives as long as its holder does, whatever its TTL)")
              .formatted(what, length));
    }
  }

  @Override
  public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
    Deadline deadline = http.deadline();
    Asked asked = new Asked(claim.key(), claim.mode());
    if (lastTaken.contains(asked)) {
      LineCleanup cleanup = sessions.lineCleanup();
      boolean shared = claim.mode() instanceof Claim.Shared;
      Line line = cleanup.read(claim.key(), deadline);
      if (line.isTaken(shared) && cleanup.endIfOver(line, shared, deadline) > 0) {
        cleanup.countDown(line);
        return Optional.empty();
      }
    }
    lastTaken.remove(asked);
    Acquisition joined = join(claim, null, deadline);
    if (joined instanceof Acquisition.Granted granted) {
      return Optional.of(granted.grant());
    }
    if (lastTaken.size() >= LAST_TAKEN_MAX) {
      lastTaken.clear();
    }
    lastTaken.add(asked);
    ConsulTicket ticket = (ConsulTicket) ((Acquisition.Queued) joined).ticket();
    boolean isTaken = afterJoining(() -> {
      ticket.leave(deadline);
      return ticket.sawOtherHolder();
    });
    if (!isTaken) {
      throw StoreException.unanswered("The attempt ended while it asked for the lock", null);
    }
    return Optional.empty();
  }

  @Override
  public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
    return join(claim, wakeUp, http.deadline());
  }

  /**
   * Joins the line of a lock, with another attempt if the session ended or the key changed
   * meanwhile.
   *
   * @param wakeUp null: nobody is going to wait
   */
  private Acquisition join(Claim claim, @Nullable Runnable wakeUp, Deadline deadline)
      throws StoreException {
    for (int again = 0; again < ATTEMPTS_MAX; again++) {
      Attempt attempt = sessions.register(claim, again, deadline);
      boolean mayHaveHappened = true;
      boolean hasTicket = false;
      try {
        int forceChecks = attempt.session().forceChecks();
        Session.Moment sent = now();
        Line line = lock(attempt, deadline);
        if (line != null) {
          sessions.lineCleanup().note(line);
          ConsulTicket ticket = new ConsulTicket(this, attempt, sent, wakeUp);
          LineRead read = new LineRead(line, forceChecks, sent);
          Ticket.Status status = afterJoining(() -> ticket.advance(read, deadline));
          if (status instanceof Ticket.Gone && attempt.session().isLost()) {
            throw StoreException.unanswered("The attempt ended while it asked for the lock", null);
          }
          hasTicket = true;
          if (status instanceof Ticket.Granted granted) {
            return new Acquisition.Granted(granted.grant());
          }
          // If its place is gone, the engine polls at once, and learns that.
          return new Acquisition.Queued(
              ticket,
              status instanceof Ticket.Waiting waiting ? waiting.recheckAfter() : Duration.ZERO);
        }
      } catch (StoreException e) {
        mayHaveHappened = e.mayHaveHappened();
        throw e;
      } finally {
        if (!mayHaveHappened) {
          sessions.discard(attempt);
        } else if (!hasTicket) {
          sessions.cleanup().freeLater(attempt);
        }
      }
    }
    throw http.sessionGone("No session lived for long enough to lock a key");
  }

  /**
   * Locks the key of an attempt, if the key is as this client knows it.
   *
   * @return the line; null: the key had changed, or the session has ended
   */
  private @Nullable Line lock(Attempt attempt, Deadline deadline) throws StoreException {
    Session session = attempt.session();
    String gate = keys.gate(session.id());
    String folder = keys.line(attempt.claim().key());
    boolean isNew = attempt.indexBefore() == 0;
    do {
      Transaction transaction = new Transaction();
      long gateIndex = session.gateIndex();
      if (isNew) {
        transaction
            .checkIndex(gate, gateIndex)
            .checkNotExists(attempt.key())
            .lock(attempt.key(), attempt.mark().text(), session.id());
      } else {
        // The session has locked it, and its end would have changed the index.
        transaction.setAt(attempt.key(), attempt.indexBefore(), attempt.mark().text(), 0);
      }
      transaction.tree(folder);
      Outcome outcome = http.transact(transaction, deadline);
      if (!outcome.isApplied() && sessions.endIfGone(session, outcome)) {
        if (outcome.resent()) {
          // The first request may have locked the key before the session ended.
          throw StoreException.unanswered("The attempt ended while it asked for the lock", null);
        }
        return null;
      }
      List<Entry> shown = outcome.entries();
      if (!outcome.isApplied()) {
        if (isNew && isOnlyFirst(outcome.failures()) && session.gateIndex() != gateIndex) {
          // Only the gate: this client wrote to it meanwhile, and knows its new index. The key does
          // not exist, and no request with the old index can create it any more.
          continue;
        }
        // The gate or the key had changed: perhaps by this very request, if a proxy sent it twice.
        shown = afterJoining(() -> http.read(new Transaction().tree(gate).tree(folder), deadline));
        Entry now = Entry.find(shown, gate);
        if (now == null) {
          // The withdrawal of the claim creates the gate again.
          throw StoreException.unanswered("Somebody deleted the key " + gate, null);
        }
        session.gateIndex(now.modifyIndex());
      }
      Line line =
          new Line(shown.stream().filter(entry -> !entry.key().equals(gate)).toList());
      Line.Place own = attempt.placeIn(line);
      if (own != null) {
        attempt.noteJoined(own.number());
        return line;
      }
      if (!isNew) {
        return null;
      }
    } while (!attempt.isOver() && !deadline.isOver());
    throw StoreException.unanswered("Consul did not lock the key " + attempt.key(), null);
  }

  /** Whether no operation failed but the first of the transaction. */
  private static boolean isOnlyFirst(List<Outcome.Failure> failures) {
    return failures.size() == 1 && failures.get(0).operation() == 0;
  }

  /**
   * Sends requests when the key of an attempt may be in the line. Each failure counts as one
   * without an answer, so that the engine withdraws the claim.
   */
  private static <T> T afterJoining(ConsulHttp.Requests<T> requests) throws StoreException {
    try {
      return requests.send();
    } catch (StoreException e) {
      throw e.mayHaveHappened() ? e : StoreException.unanswered(String.valueOf(e.getMessage()), e);
    }
  }

  /**
   * A line, and what was known just before the request that read it was sent.
   *
   * @param forceChecks {@link Session#forceChecks} then
   * @param sent the time then
   */
  record LineRead(Line line, int forceChecks, Session.Moment sent) {}

  /** @param together whether the read may wait a moment, to be made with those of other waiters */
  LineRead readLineOf(Attempt attempt, boolean together, Deadline deadline) throws StoreException {
    int forceChecks = attempt.session().forceChecks();
    Session.Moment sent = now();
    LockKey key = attempt.claim().key();
    Line line = together
        ? lineReads.read(keys.line(key), deadline)
        : sessions.lineCleanup().read(key, deadline);
    return new LineRead(line, forceChecks, sent);
  }

  @Override
  public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
    Attempt attempt = ((ConsulGrant) grant).attempt();
    Deadline deadline = http.deadline();
    String value = attempt.mark().asReleased(grant.number(), holdFor.toNanos()).text();
    Outcome outcome;
    try {
      outcome = http.transact(
          new Transaction().setAt(attempt.key(), grant.number(), value, attempt.flagsWhenOver()),
          deadline);
    } catch (StoreException e) {
      if (e.mayHaveHappened()) {
        attempt.noteRelease();
      }
      throw e;
    }
    if (outcome.isApplied()) {
      sessions.cleanup().noteReleased(attempt, outcome.entries().get(0), holdFor.toNanos());
      sessions.forget(attempt);
      return ReleaseOutcome.RELEASED;
    }
    // The background finds out what became of the key.
    sessions.cleanup().freeLater(attempt);
    // An earlier request of this release may have got through.
    return attempt.mayBeReleased() || outcome.resent()
        ? ReleaseOutcome.RELEASED_OR_LOST
        : ReleaseOutcome.ALREADY_LOST;
  }

  @Override
  public void withdraw(Claim claim) throws StoreException {
    // An unknown claim has no key, and no late request can give it one.
    Attempt attempt = sessions.attempt(claim);
    if (attempt != null) {
      sessions.cleanup().free(attempt, http.deadline());
    }
  }

  @Override
  public Object renewalGroup(Grant grant) {
    Attempt attempt = ((ConsulGrant) grant).attempt();
    return new RenewalGroup(attempt.session(), attempt.renewedWith());
  }

  private record RenewalGroup(Session session, int part) {}

  @Override
  public List<Renewal> renew(List<Grant> grants) throws StoreException {
    return confirm(grants, Claim::ttl, http.deadline()).stream()
        .map(validFor -> validFor.<Renewal>map(Renewal.Renewed::new).orElseGet(Renewal.Lost::new))
        .toList();
  }

  @Override
  public Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException {
    Deadline deadline = http.deadline();
    return http.limited(() -> confirm(List.of(grant), unused -> ttl, deadline), deadline)
        .get(0);
  }

  @Override
  public Optional<Duration> verify(Grant grant) throws StoreException {
    return extend(grant, Duration.ZERO);
  }

  @Override
  public List<Optional<Duration>> verifyAll(List<Grant> grants) throws StoreException {
    return confirm(grants, unused -> Duration.ZERO, http.deadline());
  }

  /**
   * Asks which grants of one session still have their locks, and extends those to at least these
   * TTLs. Consul does not know when a lease ends: at that time, this client gives up the key.
   */
  private List<Optional<Duration>> confirm(
      List<Grant> ofOneSession, Function<Claim, Duration> ttl, Deadline deadline)
      throws StoreException {
    List<ConsulGrant> grants =
        ofOneSession.stream().map(ConsulGrant.class::cast).toList();
    long sentNanos = time.nanos();
    // Only a session that was just renewed is known to live long enough.
    boolean lives = sessions.upkeep().renew(grants.get(0).attempt().session(), deadline);
    Set<ConsulGrant> taken =
        lives ? sessions.upkeep().endTaken(grants, deadline) : Set.copyOf(grants);
    List<Optional<Duration>> validFor = new ArrayList<>(grants.size());
    for (ConsulGrant grant : grants) {
      validFor.add(
          taken.contains(grant)
              ? Optional.empty()
              : grant.attempt().extend(sentNanos, ttl.apply(grant.claim()), time.nanos()));
    }
    return validFor;
  }

  @Override
  public Optional<StoredHolder> inspect(LockKey key) throws StoreException {
    return holders.inspect(key);
  }

  @Override
  public List<StoredHolder> readers(LockKey key) throws StoreException {
    return holders.readers(key);
  }

  @Override
  public List<StoredLock> list(LockKind kind, String namePrefix, int limit) throws StoreException {
    return holders.list(kind, namePrefix, limit);
  }

  @Override
  public boolean forceRelease(LockKey key, long number) throws StoreException {
    return holders.forceRelease(key, number);
  }

  @Override
  public void close() {
    try {
      sessions.close();
    } finally {
      http.close();
    }
  }
}
