package io.holdfast.lock.consul;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
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
 * one per lock. One thread renews them, and deletes the keys of attempts whose time is over.
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
  private final Map<String, Deletion> deletions = new ConcurrentHashMap<>();
  private final SpareKeys spareKeys = new SpareKeys();
  private volatile boolean closed;

  /** The session of one TTL, and who makes it. */
  private static final class Slot {
    final ReentrantLock making = new ReentrantLock();
    volatile @Nullable Session session;
  }

  /** A key that is to go, not before then. */
  private record Deletion(Attempt attempt, long atNanos) {}

  Sessions(ConsulHttp http, Keys keys, StoreSettings settings) {
    this.http = http;
    this.keys = keys;
    this.requests = new SessionRequests(http, settings.clientName());
    this.settings = settings;
    this.time = settings.time();
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

  /** Registers a new attempt in a session that suits it; makes one if there is none. */
  Attempt register(Claim claim, Deadline deadline) throws StoreException {
    long minHoldNanos = claim.minHold().toNanos();
    long ttlSeconds = Session.ttlSeconds(claim);
    if (minHoldNanos > 0) {
      // It outlives a client that closes, and must not keep other locks alive with it.
      Session session = create(ttlSeconds, true, deadline);
      Attempt attempt = new Attempt(claim, session, keys.attempt(claim), time.wallMillis());
      session.add(attempt);
      return attempt;
    }
    while (true) {
      Session session = shared(ttlSeconds, deadline);
      String spareKey = spareKeys.take(keys.line(claim.key()));
      Attempt attempt = new Attempt(
          claim, session, spareKey == null ? keys.attempt(claim) : spareKey, time.wallMillis());
      if (session.add(attempt)) {
        return attempt;
      }
      if (deadline.isOver()) {
        throw timedOut(deadline);
      }
    }
  }

  void forget(Attempt attempt) {
    attempt.end();
    attempt.session().remove(attempt, time.nanos());
  }

  /** An attempt's key was deleted, so that another attempt may have it. */
  void spare(Attempt attempt) {
    if (!attempt.session().isOwn() && attempt.giveKey()) {
      spareKeys.give(keys.line(attempt.claim().key()), attempt.key());
    }
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
    // No delay, since no key is ever locked twice.
    String id = requests.create(ttlSeconds, Duration.ZERO, deadline);
    long noteIndex;
    try {
      noteIndex = writeNote(id, deadline);
    } catch (StoreException e) {
      log.debug("Session {} got no key, and ends by its TTL", id, e);
      throw e;
    }
    Session session = new Session(id, ttlSeconds, own, sent, noteIndex, Duration.ZERO);
    all.add(session);
    watch(session, noteIndex);
    log.debug("Session {} of {} s made", id, ttlSeconds);
    return session;
  }

  /** Makes the session's own key; its index. */
  private long writeNote(String id, Deadline deadline) throws StoreException {
    ConsulHttp.Outcome outcome = http.transact(
        new Transaction().lock(keys.session(id), settings.clientName(), id), deadline);
    if (outcome instanceof ConsulHttp.Outcome.Applied applied
        && applied.entries().size() == 1) {
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
          goesOn = noticed(session, entry);
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
  private boolean noticed(Session session, @Nullable Entry entry) {
    try {
      if (entry == null || !entry.session().equals(session.id())) {
        // A server that lags, or lost its memory, is no proof; the leader's word is.
        boolean unused = renew(session, deadline());
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

  /**
   * Asks whether a lock was taken by force since the last time, unless a long poll would have told:
   * a session that lives says nothing about a single key of it.
   */
  void lookForForce(Session session, Deadline deadline) throws StoreException {
    if (!session.isWatched(time.nanos())) {
      List<Entry> note = http.read(new Transaction().tree(keys.session(session.id())), deadline);
      if (!note.isEmpty()) {
        lookForForce(session, note.get(0).modifyIndex(), deadline);
      }
    }
  }

  /**
   * Looks whether the keys of a session's attempts are still there, if its own key was written to
   * since the last time.
   */
  private void lookForForce(Session session, long noteIndex, Deadline deadline)
      throws StoreException {
    if (noteIndex == session.noteIndex()) {
      return;
    }
    session.beginLook();
    List<ConsulGrant> held =
        session.attempts().stream().map(Attempt::grant).filter(Objects::nonNull).toList();
    for (int from = 0; from < held.size(); from += Transaction.OPERATIONS_MAX) {
      List<ConsulGrant> some =
          held.subList(from, Math.min(held.size(), from + Transaction.OPERATIONS_MAX));
      Transaction look = new Transaction();
      some.forEach(grant -> look.tree(grant.attempt().key()));
      Set<Long> found = new HashSet<>();
      http.read(look, deadline).forEach(entry -> found.add(entry.createIndex()));
      for (ConsulGrant grant : some) {
        if (!found.contains(grant.number())) {
          grant.attempt().end();
          settings.events().lost(grant, LeaseLoss.Reason.TAKEN);
        }
      }
    }
    session.noteIndex(noteIndex);
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
      attempt.end();
      attempt.wake();
    }
  }

  /** Deletes an attempt's key after that time, and its session if that is its own. */
  void deleteAfter(Attempt attempt, long delayNanos) {
    deletions.put(attempt.key(), new Deletion(attempt, time.nanos() + delayNanos));
  }

  void deletedAlready(String key) {
    deletions.remove(key);
  }

  private void tick() {
    try {
      long nowNanos = time.nanos();
      for (Session session : all) {
        tend(session, nowNanos);
      }
      deleteDue();
    } catch (RuntimeException e) {
      log.error("Sessions could not be tended", e);
    }
  }

  private void tend(Session session, long nowNanos) {
    for (Attempt attempt : session.attempts()) {
      if (attempt.expire(nowNanos)) {
        session.remove(attempt, nowNanos);
        deleteAfter(attempt, 0);
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

  private void deleteDue() {
    List<Deletion> due = new ArrayList<>();
    for (Deletion deletion : deletions.values()) {
      if (time.nanos() - deletion.atNanos() >= 0 && due.size() < Transaction.OPERATIONS_MAX) {
        due.add(deletion);
      }
    }
    if (due.isEmpty()) {
      return;
    }
    Deadline deadline = deadline();
    try {
      Transaction transaction = new Transaction();
      due.forEach(deletion -> transaction.delete(deletion.attempt().key()));
      ConsulHttp.Outcome outcome = http.transact(transaction, deadline);
      if (outcome instanceof ConsulHttp.Outcome.Failed failed) {
        throw StoreException.refused("Consul deleted nothing: " + failed.what(), null);
      }
      for (Deletion deletion : due) {
        deletions.remove(deletion.attempt().key(), deletion);
        if (deletion.attempt().session().isOwn()) {
          end(deletion.attempt().session(), deadline);
        }
      }
    } catch (StoreException e) {
      log.debug("{} key(s) could not be deleted; again later", due.size(), e);
      for (Deletion deletion : due) {
        deletions.replace(
            deletion.attempt().key(),
            deletion,
            new Deletion(deletion.attempt(), time.nanos() + jittered(RETRY_NANOS)));
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
    for (Session session : all) {
      if (!session.isOwn() && !deadline.isOver()) {
        end(session, deadline);
      }
    }
  }
}
