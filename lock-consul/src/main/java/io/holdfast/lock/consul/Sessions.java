package io.holdfast.lock.consul;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The sessions of one client: made when first needed, renewed as long as they are used, and never
 * one per lock. One thread renews them; another cleans up behind them when there is something.
 */
final class Sessions implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(Sessions.class);

  private static final long TICK_MILLIS = 200;
  private static final long UNUSED_NANOS_MAX = TimeUnit.MINUTES.toNanos(2);
  private static final long WATCH_NANOS_MAX = TimeUnit.MINUTES.toNanos(5);
  private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final ConsulHttp http;
  private final Keys keys;
  private final SessionRequests requests;
  private final StoreSettings settings;
  private final TimeSource time;
  private final ScheduledThreadPoolExecutor ticker;

  private final Map<Long, Slot> shared = new ConcurrentHashMap<>();
  private final Set<Session> all = ConcurrentHashMap.newKeySet();

  /** Attempts that may have a key, by their claims' owner ids. */
  private final Map<String, Attempt> attempts = new ConcurrentHashMap<>();

  private final Abandoned abandoned;
  private final Leftovers leftovers;
  private volatile boolean closed;

  /** The session of one TTL, and who makes it. */
  private static final class Slot {
    final ReentrantLock making = new ReentrantLock();
    volatile @Nullable Session session;
  }

  Sessions(ConsulHttp http, Keys keys, StoreSettings settings) {
    this.http = http;
    this.keys = keys;
    this.requests = new SessionRequests(http, settings.clientName());
    this.settings = settings;
    this.time = settings.time();
    this.abandoned = new Abandoned(http, keys, this, time);
    this.leftovers = new Leftovers(http, keys, this, abandoned, time);
    ticker = new ScheduledThreadPoolExecutor(1, task -> {
      Thread thread = new Thread(task, "holdfast-" + settings.clientName() + "-sessions");
      thread.setDaemon(true);
      return thread;
    });
    var unused =
        ticker.scheduleWithFixedDelay(this::tick, TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS);
  }

  Deadline deadline() {
    // Sockets keep real time, whatever clock leases are counted by.
    return Deadline.after(settings.storeTimeout(), TimeSource.system());
  }

  Abandoned abandoned() {
    return abandoned;
  }

  Leftovers leftovers() {
    return leftovers;
  }

  /** What is known of a claim; null: it has nothing at Consul. */
  @Nullable
  Attempt attempt(Claim claim) {
    return attempts.get(claim.ownerId());
  }

  /** How many attempts may have something at Consul. */
  int attempts() {
    return attempts.size();
  }

  /** Registers a new attempt in a session that suits it; makes one if there is none. */
  Attempt register(Claim claim, Deadline deadline) throws StoreException {
    long ttlSeconds = Session.ttlSeconds(claim);
    // A minimum hold outlives a client that closes, and must not keep other locks alive with it.
    boolean own = !claim.minHold().isZero();
    while (true) {
      Session session = own ? create(ttlSeconds, true, deadline) : shared(ttlSeconds, deadline);
      SpareKeys.Spare spare = session.spareKeys().take(keys.line(claim.key()));
      Attempt attempt = spare == null
          ? new Attempt(claim, session, keys.attempt(claim), time.nanos(), time.wallMillis())
          : new Attempt(claim, session, spare, time.nanos(), time.wallMillis());
      if (session.add(attempt)) {
        attempts.put(claim.ownerId(), attempt);
        return attempt;
      }
      if (deadline.isOver()) {
        throw timedOut(deadline);
      }
    }
  }

  /** Nothing is left of an attempt. */
  void forget(Attempt attempt) {
    attempt.end();
    attempts.remove(attempt.claim().ownerId(), attempt);
    attempt.session().remove(attempt, time.nanos());
  }

  /** Nothing was sent for an attempt. */
  void unused(Attempt attempt) {
    if (attempt.setFreed() && attempt.indexBefore() > 0) {
      leftovers.spare(attempt, attempt.overBefore(), attempt.indexBefore());
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
        session = create(ttlSeconds, false, deadline);
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

  private Session create(long ttlSeconds, boolean own, Deadline deadline) throws StoreException {
    if (closed) {
      throw StoreException.refused("The client was closed", null);
    }
    Session.Sent sent = Session.Sent.now(time);
    // No delay at Consul, since no key is ever another session's.
    String id = requests.create(ttlSeconds, Duration.ZERO, deadline);
    long noteIndex;
    try {
      noteIndex = writeNote(id, deadline);
    } catch (StoreException e) {
      log.debug("Session {} got no key, and ends by its TTL", id, e);
      throw e;
    }
    // Who waits leaves its locks alone for as long as it may have been renewed for before its end.
    Session session =
        new Session(id, ttlSeconds, own, sent, noteIndex, Duration.ofSeconds(ttlSeconds));
    all.add(session);
    watch(session, noteIndex);
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
    throw StoreException.refused(
        "A session ended as soon as it was made",
        new ConsulException(ConsulException.Problem.SESSION_GONE, 409, outcome.toString()));
  }

  /**
   * Hears at once of the end of a session, which deletes its key, and of a lock that was taken from
   * it by force, which changes it. Without it, the next renewal would tell.
   */
  private void watch(Session session, long index) {
    if (closed || session.isLost() || !all.contains(session)) {
      return;
    }
    Duration wait = Duration.ofNanos(Math.min(session.ttlNanos(), WATCH_NANOS_MAX));
    if (index > 0) {
      // Should the connection die unnoticed, this is for how long that is not noticed.
      session.watchedUntil(
          time.nanos() + wait.toNanos() + settings.storeTimeout().toNanos());
    }
    var unused = http.watch(keys.session(session.id()), index, wait, new ConsulHttp.Heard() {
      @Override
      public void answered(@Nullable Entry entry, long nextIndex) {
        boolean goesOn = false;
        try {
          goesOn = noticed(session, entry, nextIndex);
        } finally {
          if (goesOn && nextIndex >= index) {
            watch(session, nextIndex);
          } else {
            failed("The session's key is gone");
          }
        }
      }

      @Override
      public void failed(String why) {
        unwatched(session);
        later(() -> watch(session, 0));
      }
    });
  }

  /** Whoever holds a lock is told, since its loss would not be heard of; a renewal settles it. */
  private void unwatched(Session session) {
    boolean before = session.isWatched(time.nanos());
    session.watchedUntil(time.nanos());
    if (before && !closed) {
      for (Attempt attempt : session.attempts()) {
        ConsulGrant grant = attempt.grant();
        if (grant != null) {
          settings.events().suspended(grant);
        }
      }
    }
  }

  /** What a session's own key tells; false: not enough. */
  private boolean noticed(Session session, @Nullable Entry entry, long index) {
    try {
      if (entry == null || !entry.session().equals(session.id())) {
        if (entry == null && index > session.noteIndex()) {
          // It was there before that index, so this is its end; and the server that tells of it may
          // be leaving itself, and tell no more.
          lost(session);
        } else {
          // A server that lags, or lost its memory, is no proof; the leader's word is.
          boolean unused = renew(session, deadline());
        }
        return false;
      }
      lookForForce(session, entry.modifyIndex(), deadline());
      return true;
    } catch (StoreException e) {
      log.debug("Session {} seems gone or robbed, and Consul can't be asked", session.id(), e);
      return false;
    }
  }

  /** Runs something in about half a second, on a thread that may do I/O. */
  void later(Runnable task) {
    if (!closed) {
      try {
        var unused = ticker.schedule(
            task, 300 + ThreadLocalRandom.current().nextInt(400), TimeUnit.MILLISECONDS);
      } catch (java.util.concurrent.RejectedExecutionException e) {
        log.trace("Closed meanwhile", e);
      }
    }
  }

  /** Renews a session; false: it is gone, and everybody was told. */
  boolean renew(Session session, Deadline deadline) throws StoreException {
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

  /** Looks whether its holders still have their keys, if its own key was written to since. */
  private void lookForForce(Session session, long noteIndex, Deadline deadline)
      throws StoreException {
    if (noteIndex == session.noteIndex()) {
      return;
    }
    session.beginLook();
    List<ConsulGrant> held =
        session.attempts().stream().map(Attempt::grant).filter(Objects::nonNull).toList();
    for (ConsulGrant grant : taken(held, deadline)) {
      settings.events().lost(grant, LeaseLoss.Reason.TAKEN);
    }
    session.noteIndex(noteIndex);
  }

  /**
   * Asks for the keys of some grants: a session that lives says nothing about a single key of it.
   *
   * @return those that have no key any more, or one that somebody wrote to; they are over
   */
  Set<ConsulGrant> taken(List<ConsulGrant> grants, Deadline deadline) throws StoreException {
    Set<ConsulGrant> taken = new HashSet<>();
    for (int from = 0; from < grants.size(); from += Transaction.OPERATIONS_MAX) {
      List<ConsulGrant> some =
          grants.subList(from, Math.min(grants.size(), from + Transaction.OPERATIONS_MAX));
      Transaction look = new Transaction();
      some.forEach(grant -> look.checkIndex(grant.attempt().key(), grant.number()));
      if (http.check(look, deadline) instanceof ConsulHttp.Outcome.Failed failed) {
        for (ConsulHttp.Failure failure : failed.failures()) {
          taken.add(some.get((int) failure.operation()));
        }
      }
    }
    // One that is being released as well: its release finds out by itself.
    taken.removeIf(grant -> grant.attempt().isFreed());
    taken.forEach(grant -> abandoned.add(grant.attempt()));
    return taken;
  }

  /** Whether an operation failed since the session has ended; everybody was told then. */
  boolean isGone(Session session, ConsulHttp.Outcome.Failed failed) {
    if (failed.failures().stream().noneMatch(one -> one.what().contains("invalid session"))) {
      return false;
    }
    lost(session);
    return true;
  }

  /** Tells every holder, then lets a new session be made. */
  void lost(Session session) {
    if (session.isLost()) {
      return;
    }
    for (Attempt attempt : session.attempts()) {
      ConsulGrant grant = attempt.grant();
      if (grant != null) {
        settings.events().lost(grant, LeaseLoss.Reason.SESSION_LOST);
      }
    }
    session.markLost();
    all.remove(session);
    for (Attempt attempt : session.attempts()) {
      forget(attempt);
      attempt.wake();
    }
  }

  private void tick() {
    try {
      long nowNanos = time.nanos();
      for (Session session : all) {
        tend(session, nowNanos);
      }
      leftovers.tend(all);
    } catch (RuntimeException | Error e) {
      // Whatever it is: without this thread, sessions would end and keys would stay.
      log.error("Sessions could not be tended", e);
    }
  }

  private void tend(Session session, long nowNanos) {
    for (Attempt attempt : session.attempts()) {
      if (attempt.expire(nowNanos)) {
        abandoned.add(attempt);
        attempt.wake();
      }
    }
    if (session.isUnused()) {
      // One that only a minimum hold uses must end by itself, should this process die.
      if (!session.isOwn()
          && nowNanos - session.usedNanos() > UNUSED_NANOS_MAX
          && session.retireIfUnused()) {
        session.markLost();
        all.remove(session);
        requests.destroy(session.id(), deadline());
        return;
      }
      if (session.isOwn()) {
        return;
      }
    }
    // Later than the engine, which renews held leases each third of their TTL and the session with
    // them: this is for sessions that are only waited in.
    long dueNanos = session.ttlNanos() / 100 * (45 + ThreadLocalRandom.current().nextInt(5));
    if (nowNanos - session.renewedNanos() > dueNanos && session.mayRetry(nowNanos)) {
      try {
        boolean unused = renew(session, deadline());
      } catch (StoreException e) {
        log.debug("Session {} was not renewed", session.id(), e);
        session.notBefore(nowNanos + jittered(RETRY_NANOS));
      }
    }
  }

  private static long jittered(long nanos) {
    return nanos / 2 + ThreadLocalRandom.current().nextLong(nanos);
  }

  /** Ends a session that was one attempt's own. */
  void end(Session session, Deadline deadline) {
    session.markLost();
    all.remove(session);
    requests.destroy(session.id(), deadline);
  }

  /** Destroys the sessions, except those that keep a name taken for its minimum hold. */
  @Override
  public void close() {
    closed = true;
    ticker.shutdownNow();
    boolean ended = deadline()
        .awaitUninterruptibly(
            leftNanos -> ticker.awaitTermination(leftNanos, TimeUnit.NANOSECONDS));
    if (!ended) {
      log.debug("The thread of the sessions is still busy");
    }
    Deadline deadline = deadline();
    for (Session session : leftovers.sessionsOfFreeNames()) {
      if (!deadline.isOver()) {
        end(session, deadline);
      }
    }
    for (Session session : all) {
      if (!session.isOwn() && !deadline.isOver()) {
        end(session, deadline);
      }
    }
  }
}
