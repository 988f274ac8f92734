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
 * The sessions of one client, one for each TTL: created when first needed, and renewed for as long
 * as they are used. One thread renews them, and another clears up after them if need be.
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

  /** The sessions by their TTLs in seconds. */
  private final Map<Long, Session> shared = new ConcurrentHashMap<>();

  /** Held while a session is created. */
  private final ReentrantLock making = new ReentrantLock();

  private final Set<Session> all = ConcurrentHashMap.newKeySet();

  /** Attempts that may have a key, by their claims' owner ids. */
  private final Map<String, Attempt> attempts = new ConcurrentHashMap<>();

  private final Watches watches;
  private final LineCleanup lines;
  private final SessionCleanup cleanup;
  private volatile boolean closed;

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

  /**
   * Starts a countdown for a line whose first key has no session, in case that this client is
   * closed before the time of that place is over.
   */
  public void countDown(Line line, Claim claim) {
    lines.countDown(line, Session.ttlSeconds(claim.ttl().toNanos()));
  }

  /** Returns the attempt of a claim; null: it has nothing at Consul. */
  @Nullable
  public Attempt attempt(Claim claim) {
    return attempts.get(claim.ownerId());
  }

  /** Whether anybody may still use the session. */
  boolean isInUse(Session session) {
    return !closed && !session.isLost() && all.contains(session);
  }

  /** Returns the number of attempts that may have something at Consul. */
  public int attempts() {
    return attempts.size();
  }

  /**
   * Registers a new attempt in the session of its TTL, which is created if there is none.
   *
   * @param again the number of earlier attempts of the claim
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

  /**
   * Ends an attempt whose request certainly changed nothing. If its key was an idle one, it is
   * again.
   */
  public void unused(Attempt attempt) {
    if (attempt.setFreed() && attempt.indexBefore() > 0) {
      cleanup.idle(attempt, attempt.indexBefore());
    }
    forget(attempt);
  }

  private Session shared(long ttlSeconds, Deadline deadline) throws StoreException {
    Session session = shared.get(ttlSeconds);
    if (session != null && !session.isLost()) {
      return session;
    }
    boolean mine =
        deadline.awaitUninterruptibly(leftNanos -> making.tryLock(leftNanos, TimeUnit.NANOSECONDS));
    if (!mine) {
      throw timedOut(deadline);
    }
    try {
      session = shared.get(ttlSeconds);
      if (session == null || session.isLost()) {
        session = create(ttlSeconds, deadline);
        shared.put(ttlSeconds, session);
      }
      return session;
    } finally {
      making.unlock();
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
        // Otherwise each failed attempt would leave a session.
        boolean unused = http.execute(() -> requests.destroy(id, http.deadline()));
      }
    }
    Session session = new Session(id, ttlSeconds, sent, noteIndex);
    all.add(session);
    watches.begin(session, noteIndex);
    log.debug("Session {} of {} s made", id, ttlSeconds);
    return session;
  }

  /** Creates the session's own keys, and returns their index. */
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

  /** Renews a session; false: it has ended, and its holders and waiters were told. */
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
   * Asks Consul whether the keys of these grants are as they were. That the session lives says
   * nothing about a single key.
   *
   * @return the grants whose keys are gone or were written to: they are over
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
    // Those that this client has given up meanwhile are not taken.
    taken.removeIf(grant -> grant.attempt().isFreed());
    taken.forEach(grant -> cleanup.add(grant.attempt()));
    return taken;
  }

  /**
   * Whether a transaction failed because the session has ended. If so, its holders and waiters are
   * told.
   */
  public boolean isGone(Session session, ConsulHttp.Outcome.Failed failed) {
    if (failed.failures().stream().noneMatch(one -> one.what().contains("invalid session"))) {
      return false;
    }
    lost(session);
    return true;
  }

  /**
   * Ends, in this client, a session that has ended at Consul: tells all of its holders, and only
   * then gives up their keys and wakes its waiters.
   */
  void lost(Session session) {
    // The session is marked as lost before its grants are read, so that a new holder is told or
    // sees the mark.
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

  /** Tells the holder of the loss; false: it may not know, so its key must keep others waiting. */
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
   * Removes a session, and has cleared away what is left of it at Consul.
   *
   * @param attempts the keys of its attempts whose holders, if any, know of their loss
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
        // On each tick, in case that memory ran out the first time: the attempt would keep its
        // session alive for ever.
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

  /** Ends a session that this client needs no longer. */
  private void end(Session session) {
    List<Attempt> ended = session.end();
    if (ended != null) {
      settle(session, ended.stream().map(Attempt::key).collect(Collectors.toSet()));
    }
  }

  /** Destroys the sessions and deletes their keys, except those that keep names taken. */
  @Override
  public void close() {
    closed = true;
    ticker.close(http.deadline());
    all.forEach(this::end);
    // First the sessions, since their end changes their keys, and a countdown covers keys as they
    // are when it begins.
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
   * Runs one step of the close, even if those before it failed, for a store timeout at most. All
   * steps together have two, so that a second one is tried if the first takes all of its time.
   */
  private void closing(Closing task, Deadline whole) {
    try {
      task.run(whole.within(settings.storeTimeout()));
    } catch (StoreException e) {
      log.debug("Sessions end by their TTLs, and their keys stay for others to delete", e);
    }
  }
}
