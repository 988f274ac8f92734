package io.holdfast.lock.consul.session;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.Outcome;
import io.holdfast.lock.consul.http.SessionRequests;
import io.holdfast.lock.consul.http.Transaction;
import io.holdfast.lock.consul.line.Keys;
import io.holdfast.lock.consul.line.LineCleanup;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.TimeSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The sessions of one client, one for each TTL, and the attempts that live in them. A session is
 * created when first needed, and ended once it is unused or lost. One thread finds what is due.
 */
public final class Sessions implements SessionCleanup.Registry, AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(Sessions.class);

  private static final long UNUSED_NANOS_MAX = TimeUnit.MINUTES.toNanos(2);

  /**
   * The time for which the creation of a session is waited for, in store timeouts. It is not sent
   * again, so it may not be longer, or one that was lost on the way would delay all of that TTL.
   */
  private static final int CREATION_STORE_TIMEOUTS = 2;

  private final ConsulHttp http;
  private final Keys keys;
  private final SessionRequests requests;
  private final StoreSettings settings;
  private final TimeSource time;

  /** The sessions by their TTLs in seconds. */
  private final Map<Long, Session> shared = new ConcurrentHashMap<>();

  /**
   * The sessions that are being created, by their TTLs in seconds. A creation is bound to no
   * caller's deadline: a frozen Consul that goes on creates one session, and not one for each call
   * that it did not answer.
   */
  private final Map<Long, CompletableFuture<Session>> creations = new ConcurrentHashMap<>();

  /**
   * The last attempt of each claim, if it may have a key; by the claim's owner id. Earlier ones are
   * in {@link SessionCleanup}.
   */
  private final Map<String, Attempt> attempts = new ConcurrentHashMap<>();

  private final LineCleanup lineCleanup;
  private final SessionCleanup cleanup;
  private final SessionUpkeep upkeep;
  private final SessionThread thread;

  /** Held by each tick, and while {@link #closed} is set, after which ticks begin nothing. */
  private final ReentrantLock ticking = new ReentrantLock();

  private volatile boolean closed;

  public Sessions(ConsulHttp http, Keys keys, StoreSettings settings) {
    this.http = http;
    this.keys = keys;
    this.requests = new SessionRequests(http, settings.clientName());
    this.settings = settings;
    this.time = settings.time();
    this.lineCleanup = new LineCleanup(http, keys, requests, time);
    this.cleanup = new SessionCleanup(http, keys, this, requests, lineCleanup, time);
    this.upkeep =
        new SessionUpkeep(http, keys, requests, cleanup, settings, () -> closed, this::end);
    thread = new SessionThread(settings.clientName());
    thread.start(this::tick);
  }

  public SessionCleanup cleanup() {
    return cleanup;
  }

  public LineCleanup lineCleanup() {
    return lineCleanup;
  }

  public SessionUpkeep upkeep() {
    return upkeep;
  }

  /** Returns the attempt of a claim; null: it has nothing at Consul. */
  @Nullable
  public Attempt attempt(Claim claim) {
    return attempts.get(claim.ownerId());
  }

  /**
   * Registers a new attempt in the session of its TTL, which is created if there is none.
   *
   * @param again the number of earlier attempts of the claim
   */
  public Attempt register(Claim claim, int again, Deadline deadline) throws StoreException {
    while (true) {
      Session session = getOrCreate(Session.ttlSeconds(claim.ttl().toNanos()), deadline);
      IdleKeys.IdleKey idle = session.idleKeys.take(keys.line(claim.key()));
      Attempt attempt = idle == null
          ? new Attempt(claim, session, keys.attempt(claim, again), 0, time)
          : new Attempt(claim, session, idle.key(), idle.index(), time);
      if (session.add(attempt)) {
        attempts.put(claim.ownerId(), attempt);
        return attempt;
      }
    }
  }

  /** Ends an attempt that has nothing at Consul any more. */
  @Override
  public void forget(Attempt attempt) {
    attempt.end();
    attempts.remove(attempt.claim().ownerId(), attempt);
    attempt.session().remove(attempt, time.nanos());
  }

  /**
   * Ends an attempt whose request certainly changed nothing. If it took over an idle key, that key
   * is idle again.
   */
  public void discard(Attempt attempt) {
    if (attempt.setFreed() && attempt.indexBefore() > 0) {
      cleanup.offerKey(attempt, attempt.indexBefore());
    }
    forget(attempt);
  }

  private Session getOrCreate(long ttlSeconds, Deadline deadline) throws StoreException {
    Session session = shared.get(ttlSeconds);
    if (session != null && !session.isLost()) {
      return session;
    }
    return SessionRequests.await(creation(ttlSeconds), "Consul made no session", deadline);
  }

  /** Returns the creation of a session that is under way, or begins one. */
  private CompletableFuture<Session> creation(long ttlSeconds) {
    CompletableFuture<Session> begun = new CompletableFuture<>();
    CompletableFuture<Session> earlier = creations.putIfAbsent(ttlSeconds, begun);
    if (earlier != null) {
      return earlier;
    }
    try {
      http.execute(() -> finish(ttlSeconds, begun));
    } catch (Error e) {
      // There is no thread for it.
      creations.remove(ttlSeconds);
      begun.completeExceptionally(e);
    }
    return begun;
  }

  private void finish(long ttlSeconds, CompletableFuture<Session> creation) {
    try {
      // Another may have been made since the caller looked.
      Session session = shared.get(ttlSeconds);
      if (session == null || session.isLost()) {
        session = create(ttlSeconds);
        shared.put(ttlSeconds, session);
      }
      creations.remove(ttlSeconds);
      creation.complete(session);
    } catch (StoreException | RuntimeException | Error e) {
      creations.remove(ttlSeconds);
      creation.completeExceptionally(e);
    }
  }

  private Session create(long ttlSeconds) throws StoreException {
    if (closed) {
      throw StoreException.refused("The client was closed", null);
    }
    Deadline late = Deadline.after(
        settings.storeTimeout().multipliedBy(CREATION_STORE_TIMEOUTS), TimeSource.system());
    Session.Moment sent = Session.Moment.now(time);
    Session session = new Session(requests.create(ttlSeconds, late), ttlSeconds, sent);
    try {
      // After a late answer, a lease in this session would be over at once.
      if (session.isRenewalDue(time.nanos()) && !upkeep.renew(session, http.deadline())) {
        throw http.sessionGone("It ended before its creation was answered");
      }
      session.gateIndex(createOwnKeys(session.id(), http.deadline()));
    } catch (StoreException | RuntimeException | Error e) {
      // Otherwise each failure would leave a session.
      List<Attempt> unused = session.end();
      http.execute(() -> tryStep(() -> requests.destroy(session.id(), http.deadline())));
      throw e;
    }
    upkeep.begin(session);
    if (closed) {
      end(session);
      tryStep(() -> cleanup.settle(session, () -> late));
      throw StoreException.refused("The client was closed", null);
    }
    log.debug("Session {} of {} s made", session.id(), ttlSeconds);
    return session;
  }

  /**
   * Creates the two own keys of a session, its gate and the watched key, and returns their index.
   */
  private long createOwnKeys(String id, Deadline deadline) throws StoreException {
    Outcome outcome = http.transact(
        new Transaction()
            .lock(keys.gate(id), settings.clientName(), id)
            .lock(keys.watched(id), settings.clientName(), id),
        deadline);
    if (outcome.entries().size() == 2) {
      return outcome.entries().get(0).modifyIndex();
    }
    throw http.sessionGone(outcome.toString());
  }

  /** Runs a task after a while, unless the client is closed by then. */
  @Override
  public void runLater(long delayNanos, Runnable task) {
    thread.runLater(delayNanos, task);
  }

  /**
   * Ends a session in this client if a transaction failed because the session has ended.
   *
   * @return whether it has ended
   */
  @Override
  public boolean endIfGone(Session session, Outcome outcome) {
    if (outcome.failures().stream().noneMatch(one -> one.what().contains("invalid session"))) {
      return false;
    }
    end(session);
    return true;
  }

  /**
   * Ends a session in this client: tells all of its holders, and only then gives up their keys and
   * wakes its waiters.
   */
  private void end(Session session) {
    // The session counts as lost before its grants are read, so each new holder is told, or sees
    // that it is lost.
    List<Attempt> ended = session.end();
    if (ended == null) {
      return;
    }
    ended.forEach(this::tell);
    SessionThread.safely(() -> giveUp(session));
    for (Attempt attempt : ended) {
      forget(attempt);
      SessionThread.safely(attempt::wake);
    }
  }

  /**
   * Tells the holder of an attempt, if it has one, of the loss, and only then gives up its key. If
   * the telling fails, the key stays: a holder that does not know must keep others waiting.
   */
  private void tell(Attempt attempt) {
    try {
      ConsulGrant grant = attempt.grant();
      if (grant != null) {
        settings.events().lost(grant, LeaseLoss.Reason.SESSION_LOST);
      }
      if (!attempt.isFreed()) {
        IdleKeys.IdleKey key = new IdleKeys.IdleKey(attempt.key(), 0, time.nanos());
        attempt.session().idleKeys.addForCleanup(key);
      }
    } catch (RuntimeException | Error e) {
      log.error("The holder of {} was not told of its end", attempt.key(), e);
    }
  }

  private void giveUp(Session session) {
    cleanup.settleLater(session);
    upkeep.stop(session);
  }

  private void tick() {
    SessionThread.safely(http::tend);
    ticking.lock();
    try {
      if (!closed) {
        long nowNanos = time.nanos();
        upkeep.sessions().forEach(session -> SessionThread.safely(() -> tend(session, nowNanos)));
        SessionThread.safely(upkeep::beginWitnesses);
        cleanup.tend(upkeep.sessions());
      }
    } finally {
      ticking.unlock();
    }
  }

  private void tend(Session session, long nowNanos) {
    upkeep.tend(session, nowNanos);
    for (Attempt attempt : session.attempts()) {
      if (attempt.expire(nowNanos)) {
        attempt.wake();
      }
      if (attempt.isOver()) {
        // Repeated on each tick, in case the first call ran out of memory: an attempt that is never
        // freed would keep its session alive for ever.
        cleanup.freeLater(attempt);
      }
    }
    if (session.retireIfUnused(nowNanos - UNUSED_NANOS_MAX)) {
      giveUp(session);
    }
  }

  /**
   * Destroys the sessions and deletes their keys, except in lines that still have a place, within a
   * store timeout.
   */
  @Override
  public void close() {
    ticking.lock();
    try {
      closed = true;
    } finally {
      ticking.unlock();
    }
    try {
      destroyAll(http.deadline());
    } finally {
      thread.close();
    }
  }

  private void destroyAll(Deadline deadline) {
    upkeep.sessions().forEach(this::end);
    List<Session> ended = cleanup.ended.all();
    // Sessions first: their end changes their keys, and a countdown covers only keys that have not
    // changed since it began.
    ended.forEach(session -> tryStep(() -> requests.destroy(session.id(), deadline)));
    cleanup.holds.all().forEach(hold -> tryStep(() -> cleanup.shorten(hold, deadline)));
    tryStep(() -> lineCleanup.beginCountdowns(deadline));
    ended.forEach(session -> tryStep(() -> cleanup.settle(session, () -> deadline)));
    tryStep(() -> lineCleanup.deleteUseless(deadline));
  }

  private interface Step {
    void run() throws StoreException;
  }

  /**
   * Runs a step, and logs its failure: Consul ends sessions by their TTLs, and others delete the
   * keys.
   */
  private static void tryStep(Step step) {
    try {
      step.run();
    } catch (StoreException | RuntimeException e) {
      log.debug("Sessions end by their TTLs, and their keys stay for others to delete", e);
    }
  }
}
