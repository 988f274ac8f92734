package io.holdfast.lock.consul.session;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.SessionRequests;
import io.holdfast.lock.consul.http.Transaction;
import io.holdfast.lock.consul.line.Keys;
import io.holdfast.lock.consul.line.Line;
import io.holdfast.lock.consul.line.LineCleanup;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.TimeSource;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The sessions of one client: made when first needed, renewed as long as they are used, and never
 * one per lock. One thread renews them; another cleans up behind them when there is something.
 */
public final class Sessions implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(Sessions.class);

  private static final long UNUSED_NANOS_MAX = TimeUnit.MINUTES.toNanos(2);

  private final ConsulHttp http;
  private final Keys keys;
  private final SessionRequests requests;
  private final StoreSettings settings;
  private final TimeSource time;
  private final Ticker ticker;

  private final Map<Long, Slot> shared = new ConcurrentHashMap<>();
  private final Set<Session> all = ConcurrentHashMap.newKeySet();

  /** Attempts that may have a key, by their claims' owner ids. */
  private final Map<String, Attempt> attempts = new ConcurrentHashMap<>();

  private final Watches watches;
  private final LineCleanup lines;
  private final SessionCleanup cleanup;
  private volatile boolean closed;

  /** The session of one TTL, and who makes it. */
  private static final class Slot {
    final ReentrantLock making = new ReentrantLock();
    volatile @Nullable Session session;
  }

  public Sessions(ConsulHttp http, Keys keys, StoreSettings settings) {
    this.http = http;
    this.keys = keys;
    this.requests = new SessionRequests(http, settings.clientName());
    this.settings = settings;
    this.time = settings.time();
    this.watches = new Watches(http, keys, this, settings);
    this.lines = new LineCleanup(http, keys, requests, time);
    this.cleanup = new SessionCleanup(http, keys, this, requests, lines, time);
    ticker = new Ticker(settings.clientName(), this::tick);
  }

  public SessionCleanup cleanup() {
    return cleanup;
  }

  public LineCleanup lines() {
    return lines;
  }

  /** Has Consul count down what keeps a claim's name taken, if only time ends that. */
  public void countDown(Line line, Claim claim) {
    lines.countDown(line, Session.ttlSeconds(claim.ttl().toNanos()));
  }

  /** Returns the attempt of a claim; null if it has nothing at Consul. */
  @Nullable
  public Attempt attempt(Claim claim) {
    return attempts.get(claim.ownerId());
  }

  /** Whether the end of a session is news to anybody. */
  boolean isInUse(Session session) {
    return !closed && !session.isLost() && all.contains(session);
  }

  /** Returns the number of attempts that may have something at Consul. */
  public int attempts() {
    return attempts.size();
  }

  /**
   * Registers a new attempt in a session that suits it; makes one if there is none.
   *
   * @param again how many attempts of the claim there were before
   */
  public Attempt register(Claim claim, int again, Deadline deadline) throws StoreException {
    while (true) {
      Session session = shared(Session.ttlSeconds(claim.ttl().toNanos()), deadline);
      IdleKeys.IdleKey idle = session.idleKeys().take(keys.line(claim.key()));
      Attempt attempt = idle == null
          ? new Attempt(claim, session, keys.attempt(claim, again), 0, time)
          : new Attempt(claim, session, idle.key(), idle.index(), time);
      if (session.add(attempt)) {
        attempts.put(claim.ownerId(), attempt);
        return attempt;
      }
      if (deadline.isOver()) {
        throw timedOut(deadline);
      }
    }
  }

  /** Ends an attempt that has nothing at Consul any more. */
  public void forget(Attempt attempt) {
    attempt.end();
    attempts.remove(attempt.claim().ownerId(), attempt);
    attempt.session().remove(attempt, time.nanos());
  }

  /** Ends an attempt that nothing was sent for. */
  public void unused(Attempt attempt) {
    if (attempt.setFreed() && attempt.indexBefore() > 0) {
      cleanup.idle(attempt, attempt.indexBefore());
    }
    forget(attempt);
  }

  private Session shared(long ttlSeconds, Deadline deadline) throws StoreException {
    Slot slot = shared.computeIfAbsent(ttlSeconds, unused -> new Slot());
    Session session = slot.session;
    if (session != null && !session.isLost()) {
      return session;
    }
    boolean mine = deadline.awaitUninterruptibly(
        leftNanos -> slot.making.tryLock(leftNanos, TimeUnit.NANOSECONDS));
    if (!mine) {
      throw timedOut(deadline);
    }
    try {
      session = slot.session;
      if (session == null || session.isLost()) {
        session = create(ttlSeconds, deadline);
        slot.session = session;
      }
      return session;
    } finally {
      slot.making.unlock();
    }
  }

  private static StoreException timedOut(Deadline deadline) {
    return StoreException.refused(
        "Consul made no session within the store timeout of " + deadline.whole(), null);
  }

  private Session create(long ttlSeconds, Deadline deadline) throws StoreException {
    if (closed) {
      throw StoreException.refused("The client was closed", null);
    }
    Session.Sent sent = Session.Sent.now(time);
    String id = requests.create(ttlSeconds, deadline);
    long noteIndex = 0;
    try {
      noteIndex = writeNote(id, deadline);
    } finally {
      if (noteIndex == 0) {
        // Else each attempt would leave one.
        boolean unused = http.execute(() -> requests.destroy(id, http.deadline()));
      }
    }
    Session session = new Session(id, ttlSeconds, sent, noteIndex);
    all.add(session);
    watches.begin(session, noteIndex);
    log.debug("Session {} of {} s made", id, ttlSeconds);
    return session;
  }

  /** Makes the session's own keys; their index. */
  private long writeNote(String id, Deadline deadline) throws StoreException {
    ConsulHttp.Outcome outcome = http.transact(
        new Transaction()
            .lock(keys.gate(id), settings.clientName(), id)
            .lock(keys.session(id), settings.clientName(), id),
        deadline);
    if (outcome instanceof ConsulHttp.Outcome.Applied applied
        && applied.entries().size() == 2) {
      return applied.entries().get(0).modifyIndex();
    }
    throw http.sessionGone(outcome.toString());
  }

  public Ticker ticker() {
    return ticker;
  }

  /** Renews a session; false: it is gone, and everybody was told. */
  public boolean renew(Session session, Deadline deadline) throws StoreException {
    if (session.isLost()) {
      return false;
    }
    Session.Sent sent = Session.Sent.now(time);
    if (!requests.renew(session.id(), deadline)) {
      lost(session);
      return false;
    }
    session.renewed(sent);
    return true;
  }

  /**
   * Asks for the keys of some grants: a session that lives says nothing about a single key of it.
   *
   * @return those that have no key any more, or one that somebody wrote to; they are over
   */
  public Set<ConsulGrant> taken(List<ConsulGrant> grants, Deadline deadline) throws StoreException {
    Set<ConsulGrant> taken = new HashSet<>();
    for (List<ConsulGrant> some : Transaction.parts(grants)) {
      Transaction look = new Transaction();
      some.forEach(grant -> look.checkIndex(grant.attempt().key(), grant.number()));
      if (http.check(look, deadline) instanceof ConsulHttp.Outcome.Failed failed) {
        for (ConsulHttp.Failure failure : failed.failures()) {
          taken.add(some.get((int) failure.operation()));
        }
      }
    }
    // A release that is on its way finds out by itself.
    taken.removeIf(grant -> grant.attempt().isFreed());
    taken.forEach(grant -> cleanup.add(grant.attempt()));
    return taken;
  }

  /** Whether an operation failed since the session has ended; then everybody is told. */
  public boolean isGone(Session session, ConsulHttp.Outcome.Failed failed) {
    if (failed.failures().stream().noneMatch(one -> one.what().contains("invalid session"))) {
      return false;
    }
    lost(session);
    return true;
  }

  /** Tells every holder, and only then everybody else. */
  void lost(Session session) {
    // The mark comes before the question for its grants: a new holder is told, or sees it.
    List<Attempt> ended = session.end();
    if (ended == null) {
      return;
    }
    Set<String> over = new HashSet<>();
    for (Attempt attempt : ended) {
      if (tell(attempt)) {
        over.add(attempt.key());
      }
    }
    Ticker.safely(() -> settle(session, over));
    for (Attempt attempt : ended) {
      forget(attempt);
      Ticker.safely(attempt::wake);
    }
  }

  /** Tells the holder; false: it may not know, and its key has to keep others waiting. */
  private boolean tell(Attempt attempt) {
    try {
      ConsulGrant grant = attempt.grant();
      if (grant != null) {
        settings.events().lost(grant, LeaseLoss.Reason.SESSION_LOST);
      }
      return true;
    } catch (RuntimeException | Error e) {
      log.error("The holder of {} was not told of its end", attempt.key(), e);
      return false;
    }
  }

  /**
   * Has cleared away all that is left of a session.
   *
   * @param attempts the keys of attempts of it that nobody believes in any more
   */
  private void settle(Session session, Set<String> attempts) {
    all.remove(session);
    cleanup.settle(session, attempts);
  }

  private void tick() {
    long nowNanos = time.nanos();
    for (Session session : all) {
      Ticker.safely(() -> tend(session, nowNanos));
    }
    cleanup.tend(all);
  }

  private void tend(Session session, long nowNanos) {
    watches.tend(session, nowNanos);
    for (Attempt attempt : session.attempts()) {
      boolean expired = attempt.expire(nowNanos);
      if (attempt.isOver()) {
        // Again if memory ran out the first time: it would keep its session alive for ever.
        cleanup.add(attempt);
      }
      if (expired) {
        attempt.wake();
      }
    }
    if (session.isUnused()
        && nowNanos - session.usedNanos() > UNUSED_NANOS_MAX
        && session.retireIfUnused()) {
      end(session);
      return;
    }
    if (session.isRenewalDue(nowNanos)) {
      try {
        boolean unused = renew(session, http.deadline());
      } catch (StoreException e) {
        log.debug("Session {} was not renewed", session.id(), e);
        session.renewalFailed(nowNanos);
      }
    }
  }

  /** Ends a session that nothing uses any more. */
  private void end(Session session) {
    List<Attempt> ended = session.end();
    if (ended != null) {
      settle(session, ended.stream().map(Attempt::key).collect(Collectors.toSet()));
    }
  }

  /** Destroys the sessions and what they would leave, except what keeps names taken. */
  @Override
  public void close() {
    closed = true;
    ticker.close(http.deadline());
    all.forEach(this::end);
    // The end of a session changes its keys, and a countdown is of what they are then.
    Deadline whole = Deadline.after(settings.storeTimeout().multipliedBy(2), TimeSource.system());
    closing(cleanup::endSessions, whole);
    closing(cleanup::countDown, whole);
    closing(cleanup::settleAll, whole);
    closing(lines::deleteUseless, whole);
  }

  private interface Closing {
    void run(Deadline deadline) throws StoreException;
  }

  /**
   * Takes a step of the close, whatever became of those before, for a store timeout at most: if the
   * first takes all of that, the second has another.
   */
  private void closing(Closing task, Deadline whole) {
    try {
      task.run(whole.within(settings.storeTimeout()));
    } catch (StoreException e) {
      log.debug("Sessions end by their TTLs, and their keys stay for others to delete", e);
    }
  }
}
