package io.holdfast.lock.consul.session;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.http.Outcome;
import io.holdfast.lock.consul.http.SessionRequests;
import io.holdfast.lock.consul.http.Transaction;
import io.holdfast.lock.consul.line.Keys;
import io.holdfast.lock.consul.line.LineCleanup;
import io.holdfast.lock.consul.line.TaskQueue;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The sessions of one client, one for each TTL: created when first needed, and renewed for as long
 * as they are used. One thread finds what is due. That upkeep runs on threads of the HTTP client,
 * so that no session's renewal waits for another's.
 */
public final class Sessions implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(Sessions.class);

  private static final long TICK_MILLIS = 200;

  /** The longest wait. Gateways end a request that is silent for a minute, by default. */
  private static final long LONG_POLL_NANOS_MAX = TimeUnit.SECONDS.toNanos(50);

  private static final long UNUSED_NANOS_MAX = TimeUnit.MINUTES.toNanos(2);

  /**
   * The time for which the creation of a session is waited for, in store timeouts. It is not sent
   * again, so it may not be longer, or one that was lost on the way would delay all of that TTL.
   */
  private static final int CREATION_STORE_TIMEOUTS = 2;

  /**
   * The time by which a witness has a longer TTL than its session. A leader that was just replaced
   * may still answer renewals, for at most the highest {@code LeaderLeaseTimeout}; they count for
   * the client, and not for the new leader.
   */
  private static final long WITNESS_SECONDS_MORE = 5;

  private final ConsulHttp http;
  private final Keys keys;
  private final SessionRequests requests;
  private final StoreSettings settings;
  private final TimeSource time;

  /** The thread that finds what is due. It does no I/O. */
  private final ScheduledThreadPoolExecutor ticker;

  /** The sessions by their TTLs in seconds. */
  private final Map<Long, Session> shared = new ConcurrentHashMap<>();

  /**
   * The sessions that are being created, by their TTLs in seconds. A creation is bound to no
   * caller's deadline: a frozen Consul that goes on creates one session, and not one for each call
   * that it did not answer.
   */
  private final Map<Long, CompletableFuture<Session>> creations = new ConcurrentHashMap<>();

  /** The sessions that are to get a witness. */
  private final TaskQueue<Session> witnesses;

  /** The sessions that this client has not given up, with their upkeep. */
  private final Map<Session, Upkeep> all = new ConcurrentHashMap<>();

  /**
   * The last attempt of each claim, if it may have a key; by the claim's owner id. Earlier ones are
   * in {@link SessionCleanup}.
   */
  private final Map<String, Attempt> attempts = new ConcurrentHashMap<>();

  private final LineCleanup lineCleanup;
  private final SessionCleanup cleanup;

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
    this.witnesses = new TaskQueue<>(time, 1, some -> makeWitness(some.get(0)));
    ticker = new ScheduledThreadPoolExecutor(1, task -> {
      // Without the thread locals of whoever starts it.
      Thread thread =
          new Thread(null, task, "holdfast-" + settings.clientName() + "-sessions", 0, false);
      thread.setDaemon(true);
      return thread;
    });
    // Tasks that come after the close are dropped.
    ticker.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy());
    var unused = ticker.scheduleWithFixedDelay(
        () -> safely(this::tick), TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS);
  }

  public SessionCleanup cleanup() {
    return cleanup;
  }

  public LineCleanup lineCleanup() {
    return lineCleanup;
  }

  /** Returns the attempt of a claim; null: it has nothing at Consul. */
  @Nullable
  public Attempt attempt(Claim claim) {
    return attempts.get(claim.ownerId());
  }

  /** Whether anybody may still use the session. */
  boolean isInUse(Session session) {
    return !closed && !session.isLost();
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
    return await(creation(ttlSeconds), "Consul made no session", deadline);
  }

  private static <T> T await(CompletableFuture<T> answer, String failure, Deadline deadline)
      throws StoreException {
    return deadline.awaitUninterruptibly(leftNanos -> {
      try {
        return answer.get(leftNanos, TimeUnit.NANOSECONDS);
      } catch (TimeoutException e) {
        throw StoreException.refused(
            failure + " within the store timeout of " + deadline.whole(), e);
      } catch (ExecutionException e) {
        throw e.getCause() instanceof StoreException cause
            ? cause
            : StoreException.refused(failure + ": " + e.getCause(), e.getCause());
      }
    });
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
      if (session.isRenewalDue(time.nanos()) && !renew(session, http.deadline())) {
        throw http.sessionGone("It ended before its creation was answered");
      }
      session.gateIndex(createOwnKeys(session.id(), http.deadline()));
    } catch (StoreException | RuntimeException | Error e) {
      // Otherwise each failure would leave a session.
      List<Attempt> unused = session.end();
      http.execute(() -> tryStep(() -> requests.destroy(session.id(), http.deadline())));
      throw e;
    }
    Upkeep upkeep = new Upkeep(session, session.gateIndex());
    all.put(session, upkeep);
    upkeep.tend(time.nanos());
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
  public void runLater(long delayNanos, Runnable task) {
    var unused = ticker.schedule(() -> safely(task), delayNanos, TimeUnit.NANOSECONDS);
  }

  /**
   * Runs a task, and logs whatever it throws. An exception would end the ticks, and with them all
   * renewals and cleanup.
   */
  static void safely(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException | Error e) {
      log.error("Something of a session could not be done", e);
    }
  }

  /** Renews a session; false: it has ended, and its holders and waiters were told. */
  public boolean renew(Session session, Deadline deadline) throws StoreException {
    if (session.isLost()) {
      return false;
    }
    String witness = session.witness();
    Session.Moment sent = Session.Moment.now(time);
    CompletableFuture<Boolean> witnessLives =
        witness == null ? CompletableFuture.completedFuture(true) : renewLater(witness, deadline);
    // Both are over if one is: two ends apart tell others that no lease stands.
    if (session.isOverdue(sent)
        || !requests.renew(session.id(), deadline)
        || !await(witnessLives, "Consul renewed no witness", deadline)) {
      end(session);
      return false;
    }
    session.noteRenewal(sent, witness);
    if (witness == null) {
      witnesses.add(session, sent.nanos());
    }
    return true;
  }

  private CompletableFuture<Boolean> renewLater(String witness, Deadline deadline) {
    CompletableFuture<Boolean> lives = new CompletableFuture<>();
    Runnable renewal = () -> {
      try {
        lives.complete(requests.renew(witness, deadline));
      } catch (StoreException | RuntimeException | Error e) {
        lives.completeExceptionally(e);
      }
    };
    try {
      http.execute(renewal);
    } catch (Error e) {
      // There is no thread for it.
      renewal.run();
    }
    return lives;
  }

  /**
   * Makes the witness of a session: see docs/decisions/consul-keys-outlive-their-session.md. Most
   * sessions of short processes are never renewed, and get none. Four requests, one after the
   * other: each has a store timeout for itself.
   */
  private void makeWitness(Session session) throws StoreException {
    String witness = session.witness();
    if (witness == null) {
      witness = isInUse(session) ? createWitness(session) : null;
    }
    if (witness == null) {
      return;
    }
    session.witness(witness);
    if (!isInUse(session)) {
      cleanup.settle(session, http::deadline);
    } else if (requests.renew(witness, http.deadline())) {
      Outcome unused = http.transact(
          new Transaction().lock(keys.witness(session.id()), settings.clientName(), witness),
          http.deadline());
    }
  }

  /** Creates a session to be a witness; null: there is none, until the next renewal at least. */
  private @Nullable String createWitness(Session session) {
    long ttlSeconds = TimeUnit.NANOSECONDS.toSeconds(session.ttlNanos()) + WITNESS_SECONDS_MORE;
    if (ttlSeconds > SessionRequests.TTL_SECONDS_MAX) {
      return null;
    }
    try {
      String node = requests.node(session.id(), http.deadline());
      return requests.createTimer(ttlSeconds, node, http.deadline());
    } catch (StoreException e) {
      // Not again at once: each try can leave a session of which nobody knows.
      log.debug("Session {} has no witness", session.id(), e);
      return null;
    }
  }

  /**
   * Asks Consul whether the keys of these grants are as they were, and ends the attempts of those
   * that are not. That the session lives says nothing about a single key.
   *
   * @return the grants whose keys are gone or were written to
   */
  public Set<ConsulGrant> endTaken(List<ConsulGrant> grants, Deadline deadline)
      throws StoreException {
    Set<ConsulGrant> taken = new HashSet<>();
    for (List<ConsulGrant> some : Transaction.parts(grants)) {
      Transaction check = new Transaction();
      some.forEach(grant -> check.checkIndex(grant.attempt().key(), grant.number()));
      for (Outcome.Failure failure : http.check(check, deadline).failures()) {
        taken.add(some.get((int) failure.operation()));
      }
    }
    // Those that this client has given up meanwhile are not taken.
    taken.removeIf(grant -> grant.attempt().isFreed());
    taken.forEach(grant -> cleanup.freeLater(grant.attempt()));
    return taken;
  }

  /**
   * Ends a session in this client if a transaction failed because the session has ended.
   *
   * @return whether it has ended
   */
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
  void end(Session session) {
    // The session counts as lost before its grants are read, so each new holder is told, or sees
    // that it is lost.
    List<Attempt> ended = session.end();
    if (ended == null) {
      return;
    }
    ended.forEach(this::tell);
    safely(() -> giveUp(session));
    for (Attempt attempt : ended) {
      forget(attempt);
      safely(attempt::wake);
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
    all.remove(session);
  }

  private void tick() {
    safely(http::tend);
    ticking.lock();
    try {
      if (!closed) {
        long nowNanos = time.nanos();
        all.forEach((session, upkeep) -> safely(() -> tend(session, upkeep, nowNanos)));
        safely(() -> witnesses.begin(http::execute));
        cleanup.tend(all.keySet());
      }
    } finally {
      ticking.unlock();
    }
  }

  private void tend(Session session, Upkeep upkeep, long nowNanos) {
    upkeep.tend(nowNanos);
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
      ticker.shutdownNow();
    }
  }

  private void destroyAll(Deadline deadline) {
    all.keySet().forEach(this::end);
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

  /**
   * Renews one session, and polls its watched key with one long poll after the other. A long poll
   * tells at once what a renewal would tell later: that the session has ended, or that one of its
   * locks was released by force.
   */
  private final class Upkeep {
    private final Session session;
    private final TaskQueue<Session> renewals;
    private final TaskQueue<Session> longPolls;

    // Both are used by the long polls alone, of which there is one at a time.

    /** The last known index of the watched key; zero: unknown, and Consul answers at once. */
    private long index;

    /** The index of the watched key at the last force check: the session had the key then. */
    private long checkedIndex;

    /** @param index the index at which the watched key was created */
    Upkeep(Session session, long index) {
      this.session = session;
      this.index = index;
      this.checkedIndex = index;
      renewals = new TaskQueue<>(time, 1, unused -> renew());
      longPolls = new TaskQueue<>(time, 1, unused -> listen());
      longPolls.add(session, time.nanos());
    }

    /** Begins what is due. */
    void tend(long nowNanos) {
      if (session.isRenewalDue(nowNanos)) {
        renewals.add(session, nowNanos);
      }
      renewals.begin(http::execute);
      longPolls.begin(http::execute);
    }

    private void renew() throws StoreException {
      boolean unused = Sessions.this.renew(session, http.deadline());
    }

    /**
     * Polls for as long as the session is in use. The end of the session releases its key, and a
     * forced release of one of its locks writes to it.
     */
    private void listen() throws StoreException {
      Duration wait = Duration.ofNanos(Math.min(session.ttlNanos(), LONG_POLL_NANOS_MAX));
      try {
        while (isInUse(session)) {
          if (index > 0) {
            // The long poll ends by then, with an answer or without.
            session.watchedUntil(time.nanos() + http.longPollMax(wait).toNanos());
          }
          onNews(http.listen(http.longPoll(keys.watched(session.id()), index, wait)));
        }
      } finally {
        suspendLeases();
      }
    }

    /**
     * Puts the leases of the session in doubt until its next renewal, since its end would go
     * unnoticed without a long poll.
     */
    private void suspendLeases() {
      boolean wasWatched = index > 0;
      index = 0;
      session.watchedUntil(time.nanos());
      if (wasWatched && isInUse(session)) {
        session.grants().forEach(settings.events()::suspended);
      }
    }

    /** Acts on the state of the watched key. */
    private void onNews(ConsulHttp.News news) throws StoreException {
      Entry entry = news.entry();
      if (entry == null || !entry.session().equals(session.id())) {
        onLoss(entry == null ? news.index() : entry.session().isEmpty() ? entry.modifyIndex() : 0);
        return;
      }
      checkForForce(entry.modifyIndex());
      if (news.index() < index) {
        throw StoreException.refused("The index went backwards", null);
      }
      index = news.index();
    }

    /**
     * Acts on the loss of the watched key.
     *
     * @param goneIndex the index since which the session does not have that key; zero: unknown
     */
    private void onLoss(long goneIndex) throws StoreException {
      if (goneIndex > checkedIndex) {
        // The session had the key before that index: it has ended, or somebody deleted the key. It
        // is given up either way. The server is not asked: it may be leaving the cluster, and
        // answer no more.
        end(session);
      } else if (Sessions.this.renew(session, http.deadline())) {
        // The leader says that the session lives, so this server lags, or has lost its data.
        throw StoreException.refused("The session's key is gone", null);
      }
    }

    /**
     * Checks the keys of the session's holders if the watched key was written to since the last
     * check.
     */
    private void checkForForce(long writtenIndex) throws StoreException {
      if (writtenIndex == checkedIndex) {
        return;
      }
      session.beginForceCheck();
      for (ConsulGrant grant : endTaken(session.grants(), http.deadline())) {
        safely(() -> settings.events().lost(grant, LeaseLoss.Reason.TAKEN));
      }
      checkedIndex = writtenIndex;
    }
  }
}
