package io.holdfast.lock.consul.classic;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.SessionRequests;
import io.holdfast.lock.consul.http.Transaction;
import io.holdfast.lock.consul.line.Orphans;
import io.holdfast.lock.consul.session.Attempt;
import io.holdfast.lock.consul.session.ConsulGrant;
import io.holdfast.lock.consul.session.Session;
import io.holdfast.lock.consul.session.Ticker;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The sessions of one client, one for each attempt. One thread renews those that are waited in, and
 * deletes the keys whose time is over. Thread-safe.
 */
public final class ClassicSessions {
  private static final Logger log = LoggerFactory.getLogger(ClassicSessions.class);

  private final ConsulHttp http;
  private final ClassicKeys keys;
  private final SessionRequests requests;
  private final @Nullable Duration lockDelay;
  private final Orphans marks;
  private final StoreSettings settings;
  private final TimeSource time;
  private final Ticker ticker;

  /** Attempts that have a session, by their claims' owner ids. */
  private final Map<String, Attempt> attempts = new ConcurrentHashMap<>();

  /** Attempts whose keys are to go, and when. */
  private final Map<Attempt, Long> deletionsAtNanos = new ConcurrentHashMap<>();

  private volatile boolean closed;

  /** @param lockDelay null: as long as a holder can believe in a lease whose session has ended */
  ClassicSessions(
      ConsulHttp http,
      ClassicKeys keys,
      @Nullable Duration lockDelay,
      Orphans marks,
      StoreSettings settings) {
    this.http = http;
    this.keys = keys;
    this.lockDelay = lockDelay;
    this.marks = marks;
    this.settings = settings;
    requests = new SessionRequests(http, settings.clientName());
    time = settings.time();
    ticker = new Ticker(settings.clientName(), this::tick);
  }

  Ticker ticker() {
    return ticker;
  }

  long nowNanos() {
    return time.nanos();
  }

  /** Returns the attempt of a claim; null if it has nothing at Consul. */
  @Nullable
  Attempt attempt(Claim claim) {
    return attempts.get(claim.ownerId());
  }

  /** Makes a session for an attempt. */
  Attempt begin(Claim claim, Deadline deadline) throws StoreException {
    if (closed) {
      throw StoreException.refused("The client was closed", null);
    }
    // A minimum hold outlives a client that closes.
    long ttlSeconds =
        Session.ttlSeconds(Math.max(claim.ttl().toNanos(), claim.minHold().toNanos()));
    Duration delay = lockDelay == null
        ? Duration.ofSeconds(Math.min(ttlSeconds, SessionRequests.LOCK_DELAY_SECONDS_MAX))
        : lockDelay;
    Session.Sent sent = Session.Sent.now(time);
    String id = requests.create(ttlSeconds, SessionRequests.Behavior.DELETE, delay, deadline);
    // Consul ends a session after up to twice its TTL.
    Duration crashBound = Duration.ofSeconds(2 * ttlSeconds).plus(delay);
    Session session = new Session(id, ttlSeconds, sent, 0, crashBound);
    Attempt attempt = new Attempt(claim, session, keys.key(claim.key()), 0, time);
    attempts.put(claim.ownerId(), attempt);
    return attempt;
  }

  /** Renews an attempt's session; false: it is gone, and the holder was told. */
  boolean renew(Attempt attempt, Deadline deadline) throws StoreException {
    Session session = attempt.session();
    if (session.isLost()) {
      return false;
    }
    Session.Sent sent = Session.Sent.now(time);
    if (!requests.renew(session.id(), deadline)) {
      forget(attempt);
      ConsulGrant grant = attempt.grant();
      if (grant != null) {
        settings.events().lost(grant, LeaseLoss.Reason.SESSION_LOST);
      }
      return false;
    }
    session.renewed(sent);
    return true;
  }

  /** Ends an attempt that has nothing, for certain. */
  void abandon(Attempt attempt, Deadline deadline) {
    forget(attempt);
    requests.destroy(attempt.session().id(), deadline);
  }

  void forget(Attempt attempt) {
    attempt.end();
    attempt.session().markLost();
    attempts.remove(attempt.claim().ownerId(), attempt);
  }

  ConsulHttp.Outcome deleteOwn(Attempt attempt, Deadline deadline) throws StoreException {
    return http.transact(
        new Transaction().checkSession(attempt.key(), attempt.session().id()).delete(attempt.key()),
        deadline);
  }

  /** Ends an attempt, and has its key deleted in the background, no earlier than after that. */
  void deleteAfter(Attempt attempt, Duration holdFor) {
    attempt.end();
    attempts.remove(attempt.claim().ownerId(), attempt);
    deletionsAtNanos.put(attempt, time.nanos() + holdFor.toNanos());
  }

  /**
   * Takes away what an attempt may have; what arrives later finds no session. After a failure that
   * goes on in the background, and the session is not renewed any more.
   */
  void leave(Attempt attempt, Deadline deadline) throws StoreException {
    attempt.end();
    deletionsAtNanos.putIfAbsent(attempt, time.nanos() + Ticker.retryNanos());
    end(attempt, deadline);
  }

  private void end(Attempt attempt, Deadline deadline) throws StoreException {
    ConsulHttp.Outcome unused = deleteOwn(attempt, deadline);
    requests.destroyForCertain(attempt.session().id(), deadline);
    deletionsAtNanos.remove(attempt);
    forget(attempt);
  }

  private void tick() {
    marks.forgetOld();
    for (Attempt attempt : attempts.values()) {
      Ticker.safely(() -> tend(attempt, time.nanos()));
    }
    deletionsAtNanos.forEach(this::deleteIfDue);
  }

  private void tend(Attempt attempt, long nowNanos) {
    if (deletionsAtNanos.containsKey(attempt)) {
      return;
    }
    if (attempt.expire(nowNanos)) {
      deleteAfter(attempt, Duration.ZERO);
      return;
    }
    Session session = attempt.session();
    if (session.isRenewalDue(nowNanos)) {
      try {
        boolean unused = renew(attempt, http.deadline());
      } catch (StoreException e) {
        log.debug("Session {} was not renewed", session.id(), e);
        session.renewalFailed(nowNanos);
      }
    }
  }

  private void deleteIfDue(Attempt attempt, long atNanos) {
    if (time.nanos() - atNanos < 0) {
      return;
    }
    try {
      end(attempt, http.deadline());
    } catch (StoreException e) {
      log.debug("The key {} could not be deleted; again later", attempt.key(), e);
      deletionsAtNanos.put(attempt, time.nanos() + Ticker.retryNanos());
    }
  }

  /** Ends what is left, except what keeps a name taken for its minimum hold. */
  void close() {
    closed = true;
    ticker.close(http.deadline());
    Deadline deadline = http.deadline();
    for (Attempt attempt : attempts.values()) {
      try {
        leave(attempt, deadline);
      } catch (StoreException e) {
        log.debug("Session {} ends by its TTL", attempt.session().id(), e);
      }
    }
    for (Attempt attempt : List.copyOf(deletionsAtNanos.keySet())) {
      deleteIfDue(attempt, deletionsAtNanos.getOrDefault(attempt, time.nanos()));
    }
  }
}
