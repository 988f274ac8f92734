package io.holdfast.lock.consul.session;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.consul.http.ConsulHttp;
import io.holdfast.lock.consul.http.Entry;
import io.holdfast.lock.consul.http.Outcome;
import io.holdfast.lock.consul.http.SessionRequests;
import io.holdfast.lock.consul.http.Transaction;
import io.holdfast.lock.consul.line.Keys;
import io.holdfast.lock.consul.line.TaskQueue;
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
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The upkeep of sessions: each is renewed, with its witness, and watched by a long poll, for as
 * long as it is used. It runs on threads of the HTTP client, so that no session's renewal waits for
 * another's.
 */
public final class SessionUpkeep {
  private static final Logger log = LoggerFactory.getLogger(SessionUpkeep.class);

  /** The longest wait. Gateways end a request that is silent for a minute, by default. */
  private static final long LONG_POLL_NANOS_MAX = TimeUnit.SECONDS.toNanos(50);

  /**
   * The time by which a witness has a longer TTL than its session. A leader that was just replaced
   * may still answer renewals, for at most the highest {@code LeaderLeaseTimeout}; they count for
   * the client, and not for the new leader.
   */
  private static final long WITNESS_SECONDS_MORE = 5;

  private final ConsulHttp http;
  private final Keys keys;
  private final SessionRequests requests;
  private final SessionCleanup cleanup;
  private final StoreSettings settings;
  private final TimeSource time;
  private final BooleanSupplier closed;
  private final Consumer<Session> end;

  /** The sessions that are to get a witness. */
  private final TaskQueue<Session> witnesses;

  /** The sessions that this client has not given up, with their upkeep. */
  private final Map<Session, Upkeep> all = new ConcurrentHashMap<>();

  /**
   * @param closed whether the client was closed, so that no session is in use any more
   * @param end ends a session in this client, and tells its holders and waiters
   */
  SessionUpkeep(
      ConsulHttp http,
      Keys keys,
      SessionRequests requests,
      SessionCleanup cleanup,
      StoreSettings settings,
      BooleanSupplier closed,
      Consumer<Session> end) {
    this.http = http;
    this.keys = keys;
    this.requests = requests;
    this.cleanup = cleanup;
    this.settings = settings;
    this.time = settings.time();
    this.closed = closed;
    this.end = end;
    this.witnesses = new TaskQueue<>(time, 1, some -> makeWitness(some.get(0)));
  }

  /** Begins the upkeep of a session that was just made. */
  void begin(Session session) {
    Upkeep upkeep = new Upkeep(session, session.gateIndex());
    all.put(session, upkeep);
    upkeep.tend(time.nanos());
  }

  /** Ends the upkeep of a session. */
  void stop(Session session) {
    all.remove(session);
  }

  /** Returns the sessions that are kept up. */
  Set<Session> sessions() {
    return all.keySet();
  }

  /** Begins what is due for a session, unless its upkeep was stopped. */
  void tend(Session session, long nowNanos) {
    Upkeep upkeep = all.get(session);
    if (upkeep != null) {
      upkeep.tend(nowNanos);
    }
  }

  /** Begins to make the witnesses that are due. */
  void beginWitnesses() {
    witnesses.begin(http::execute);
  }

  /** Whether anybody may still use the session. */
  private boolean isInUse(Session session) {
    return !closed.getAsBoolean() && !session.isLost();
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
        || !SessionRequests.await(witnessLives, "Consul renewed no witness", deadline)) {
      end.accept(session);
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
      boolean unused = SessionUpkeep.this.renew(session, http.deadline());
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
        end.accept(session);
      } else if (SessionUpkeep.this.renew(session, http.deadline())) {
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
        SessionThread.safely(() -> settings.events().lost(grant, LeaseLoss.Reason.TAKEN));
      }
      checkedIndex = writtenIndex;
    }
  }
}
