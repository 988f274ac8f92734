package io.holdfast.lock.consul;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The protocol that {@code consul lock} and many others have: one key for each lock, locked by
 * whoever comes first when it is free. A session may lock its own key again, so each attempt has a
 * session of its own: then a key that has the session is the attempt's, and no one else's.
 *
 * <p>One thread renews the sessions of those that wait, and deletes the keys whose time is over.
 */
final class ClassicStore implements LockStore {
  private static final Logger log = LoggerFactory.getLogger(ClassicStore.class);

  /** By which {@code consul lock} knows its keys: {@code api.LockFlagValue}. */
  private static final long FLAGS = 0x2ddccbc058a50c18L;

  private static final long TICK_MILLIS = 200;
  private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final ConsulHttp http;
  private final ClassicKeys keys;
  private final SessionRequests requests;
  private final Duration lockDelay;
  private final StoreSettings settings;
  private final TimeSource time;
  private final Marks marks;
  private final ScheduledThreadPoolExecutor ticker;

  /** Attempts that have a session, by their ids. */
  private final Map<String, Attempt> attempts = new ConcurrentHashMap<>();

  /** Attempts whose keys are to go, and when. */
  private final Map<Attempt, Long> deletionsAtNanos = new ConcurrentHashMap<>();

  private volatile boolean closed;

  ClassicStore(
      ConsulHttp.Settings http, String prefix, Duration lockDelay, StoreSettings settings) {
    this.http = new ConsulHttp(http, "holdfast-" + settings.clientName() + "-consul");
    this.lockDelay = lockDelay;
    this.settings = settings;
    keys = new ClassicKeys(prefix);
    requests = new SessionRequests(this.http, settings.clientName());
    time = settings.time();
    marks = new Marks(this.http, time);
    ticker = new ScheduledThreadPoolExecutor(1, task -> {
      Thread thread = new Thread(task, "holdfast-" + settings.clientName() + "-sessions");
      thread.setDaemon(true);
      return thread;
    });
    var unused =
        ticker.scheduleWithFixedDelay(this::tick, TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS);
  }

  ConsulHttp http() {
    return http;
  }

  Budget budget() {
    return new Budget(time, settings.storeTimeout());
  }

  /** Makes sure that there is a Consul that lets this client read its keys. */
  void probe() throws StoreException {
    List<Entry> unused = http.read(new Transaction().tree(keys.prefix() + "/probe/"), budget());
  }

  // ---- acquire ----

  @Override
  public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
    Budget budget = budget();
    if (look(claim.key(), budget) instanceof Look.Taken) {
      return Optional.empty();
    }
    Attempt attempt = begin(claim, budget);
    try {
      if (ask(attempt, budget) instanceof Answer.Yes yes) {
        return Optional.of(yes.grant());
      }
    } catch (StoreException e) {
      if (!e.mayHaveHappened()) {
        abandon(attempt, budget);
      }
      throw e;
    }
    abandon(attempt, budget);
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

  /** How a lock's key looks to somebody who wants it. */
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

  Look look(LockKey key, Budget budget) throws StoreException {
    while (true) {
      Entry entry = read(keys.key(key), budget);
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
      Mark mark = Mark.parse(entry.value());
      if (!mark.released()) {
        return new Look.Taken(entry, null);
      }
      long leftNanos = marks.clear(entry, mark, budget);
      if (leftNanos > 0) {
        return new Look.Taken(entry, Duration.ofNanos(leftNanos));
      }
      budget.requireLeft();
    }
  }

  private @Nullable Entry read(String key, Budget budget) throws StoreException {
    // A key that is not there is no error in a tree; what else begins so is not meant.
    for (Entry entry : http.read(new Transaction().tree(key), budget)) {
      if (entry.key().equals(key)) {
        return entry;
      }
    }
    return null;
  }

  /** Makes a session for an attempt. */
  Attempt begin(Claim claim, Budget budget) throws StoreException {
    if (closed) {
      throw StoreException.refused("The client was closed", null);
    }
    long ttlSeconds = Session.ttlSeconds(claim);
    Session.Sent sent = Session.Sent.now(time);
    Session session = new Session(
        requests.create(ttlSeconds, lockDelay, budget), ttlSeconds, true, sent, 0, lockDelay);
    Attempt attempt = new Attempt(claim, session, keys.key(claim.key()));
    attempts.put(claim.ownerId(), attempt);
    return attempt;
  }

  /** What came of asking for a key. */
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

  Answer ask(Attempt attempt, Budget budget) throws StoreException {
    Session session = attempt.session();
    long sentNanos = time.nanos();
    ConsulHttp.Outcome outcome = http.transact(
        new Transaction()
            // The same text each time, so that a request that is sent twice changes nothing.
            .lock(
                attempt.key(), Mark.attempt(attempt.claim(), session).text(), FLAGS, session.id()),
        budget);
    if (outcome instanceof ConsulHttp.Outcome.Applied applied) {
      for (Entry entry : applied.entries()) {
        if (entry.key().equals(attempt.key())) {
          // The index rises whatever becomes of the key; how often it was locked does not.
          ConsulGrant grant = attempt.hold(entry.modifyIndex(), sentNanos);
          // Whoever finds the session gone either sees the grant, and tells, or is seen here.
          return session.isLost() ? new Answer.SessionGone() : new Answer.Yes(grant);
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
      forget(attempt);
      return new Answer.SessionGone();
    }
    throw StoreException.refused("Consul refused: " + what, null);
  }

  /** Ends an attempt that got nothing, for certain. */
  void abandon(Attempt attempt, Budget budget) {
    forget(attempt);
    requests.destroy(attempt.session().id(), budget);
  }

  private void forget(Attempt attempt) {
    attempt.end();
    attempt.session().markLost();
    attempts.remove(attempt.claim().ownerId(), attempt);
  }

  // ---- release ----

  private ConsulHttp.Outcome deleteOwn(Attempt attempt, Budget budget) throws StoreException {
    return http.transact(
        new Transaction().checkSession(attempt.key(), attempt.session().id()).delete(attempt.key()),
        budget);
  }

  @Override
  public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
    Attempt attempt = ((ConsulGrant) grant).attempt();
    Budget budget = budget();
    long leftNanos = attempt.leftNanos(time.nanos());
    ConsulHttp.Outcome outcome;
    try {
      outcome = holdFor.isZero()
          ? deleteOwn(attempt, budget)
          : http.transact(
              new Transaction()
                  .checkSession(attempt.key(), attempt.session().id())
                  .lock(
                      attempt.key(),
                      Mark.released(attempt.claim(), holdFor.toNanos()).text(),
                      FLAGS,
                      attempt.session().id()),
              budget);
    } catch (StoreException e) {
      if (e.mayHaveHappened()) {
        attempt.noteRelease();
      }
      throw e;
    }
    if (outcome instanceof ConsulHttp.Outcome.Applied && !holdFor.isZero()) {
      attempts.remove(attempt.claim().ownerId(), attempt);
      attempt.end();
      deletionsAtNanos.put(attempt, time.nanos() + holdFor.toNanos());
      return ReleaseOutcome.RELEASED;
    }
    // Only now: the end of a session that has a key delays whoever comes next.
    abandon(attempt, budget);
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
    Attempt attempt = attempts.get(claim.ownerId());
    if (attempt != null) {
      leave(attempt, budget());
    }
  }

  /** Takes away what an attempt may have; what arrives later finds no session. */
  private void leave(Attempt attempt, Budget budget) throws StoreException {
    ConsulHttp.Outcome unused = deleteOwn(attempt, budget);
    requests.destroyForCertain(attempt.session().id(), budget);
    forget(attempt);
  }

  // ---- renew ----

  @Override
  public Object renewalGroup(Grant grant) {
    return ((ConsulGrant) grant).attempt().session();
  }

  @Override
  public List<Renewal> renew(List<Grant> grants) throws StoreException {
    Budget budget = budget();
    ConsulGrant grant = (ConsulGrant) grants.get(0);
    Attempt attempt = grant.attempt();
    long sentNanos = budget.beganNanos();
    // The session may live and the key be gone: taken by force.
    if (!renew(attempt, budget)) {
      return List.of(new Renewal.Lost());
    }
    if (!isHolder(grant, budget)) {
      settings.events().lost(grant, LeaseLoss.Reason.TAKEN);
      forget(attempt);
      deletionsAtNanos.put(attempt, time.nanos());
      return List.of(new Renewal.Lost());
    }
    long nowNanos = time.nanos();
    return List.of(
        attempt.extend(sentNanos, nowNanos)
            ? new Renewal.Renewed(
                Duration.ofNanos(nowNanos - sentNanos + attempt.leftNanos(nowNanos)))
            : new Renewal.Lost());
  }

  private boolean renew(Attempt attempt, Budget budget) throws StoreException {
    Session session = attempt.session();
    if (session.isLost()) {
      return false;
    }
    Session.Sent sent = Session.Sent.now(time);
    if (!requests.renew(session.id(), budget)) {
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

  /** Whoever writes to the key takes it away: it could be another grant of the same session. */
  private boolean isHolder(ConsulGrant grant, Budget budget) throws StoreException {
    Entry entry = read(grant.attempt().key(), budget);
    return entry != null
        && entry.session().equals(grant.attempt().session().id())
        && entry.modifyIndex() == grant.number();
  }

  @Override
  public Optional<Duration> verify(Grant grant) throws StoreException {
    ConsulGrant consulGrant = (ConsulGrant) grant;
    Attempt attempt = consulGrant.attempt();
    Budget budget = budget();
    // Only a session that was just renewed is known to last for longer.
    if (!renew(attempt, budget) || !isHolder(consulGrant, budget)) {
      return Optional.empty();
    }
    long nowNanos = time.nanos();
    long leftNanos = attempt.reviewedLeftNanos(nowNanos);
    return leftNanos > 0
        ? Optional.of(Duration.ofNanos(leftNanos + nowNanos - budget.beganNanos()))
        : Optional.empty();
  }

  // ---- others' locks ----

  @Override
  public Optional<StoredHolder> inspect(LockKey key) throws StoreException {
    Entry entry = read(keys.key(key), budget());
    if (entry == null || entry.session().isEmpty()) {
      return Optional.empty();
    }
    Mark mark = Mark.parse(entry.value());
    return Optional.of(new StoredHolder(
        entry.modifyIndex(),
        describe(entry),
        mark.released()
            ? Duration.ofNanos(Math.max(0, marks.leftNanos(entry, mark, time.nanos())))
            : Duration.ofMillis(2 * mark.millis()),
        mark.released()));
  }

  /** Others may have written anything, or nothing. */
  static String describe(Entry entry) {
    String holder = Mark.parse(entry.value()).holder();
    if (holder.isBlank()) {
      return "session " + entry.session();
    }
    return holder.length() <= Claim.HOLDER_LENGTH_MAX
        ? holder
        : holder.substring(0, Claim.HOLDER_LENGTH_MAX);
  }

  @Override
  public boolean forceRelease(LockKey key, long number) throws StoreException {
    Budget budget = budget();
    while (true) {
      Entry entry = read(keys.key(key), budget);
      if (entry == null || entry.session().isEmpty() || entry.modifyIndex() != number) {
        return false;
      }
      ConsulHttp.Outcome outcome =
          http.transact(new Transaction().deleteAt(entry.key(), number), budget);
      if (outcome instanceof ConsulHttp.Outcome.Applied) {
        return true;
      }
      if (outcome.resent()) {
        throw StoreException.unanswered("Consul did not answer the first time", null);
      }
    }
  }

  // ---- background ----

  /** Runs something in about half a second. */
  void later(Runnable task) {
    if (!closed) {
      try {
        var unused = ticker.schedule(
            task, 300 + ThreadLocalRandom.current().nextInt(400), TimeUnit.MILLISECONDS);
      } catch (RejectedExecutionException e) {
        log.trace("Closed meanwhile", e);
      }
    }
  }

  private void tick() {
    try {
      for (Attempt attempt : attempts.values()) {
        tend(attempt, time.nanos());
      }
      deletionsAtNanos.forEach(this::deleteIfDue);
    } catch (RuntimeException e) {
      log.error("Sessions could not be tended", e);
    }
  }

  private void tend(Attempt attempt, long nowNanos) {
    Session session = attempt.session();
    if (attempt.expire(nowNanos)) {
      attempts.remove(attempt.claim().ownerId(), attempt);
      deletionsAtNanos.put(attempt, nowNanos);
      return;
    }
    // Later than the engine, which renews held leases each third of their TTL.
    long dueNanos = session.ttlNanos() / 100 * (45 + ThreadLocalRandom.current().nextInt(5));
    if (nowNanos - session.renewedNanos() > dueNanos && session.mayRetry(nowNanos)) {
      try {
        boolean unused = renew(attempt, budget());
      } catch (StoreException e) {
        log.debug("Session {} was not renewed", session.id(), e);
        session.notBefore(nowNanos + jittered(RETRY_NANOS));
      }
    }
  }

  private void deleteIfDue(Attempt attempt, long atNanos) {
    if (time.nanos() - atNanos < 0) {
      return;
    }
    Budget budget = budget();
    try {
      ConsulHttp.Outcome unused = deleteOwn(attempt, budget);
      deletionsAtNanos.remove(attempt);
      abandon(attempt, budget);
    } catch (StoreException e) {
      log.debug("The key {} could not be deleted; again later", attempt.key(), e);
      deletionsAtNanos.put(attempt, time.nanos() + jittered(RETRY_NANOS));
    }
  }

  private static long jittered(long nanos) {
    return nanos / 2 + ThreadLocalRandom.current().nextLong(nanos);
  }

  /** Ends what is left, except what keeps a name taken for its minimum hold. */
  @Override
  public void close() {
    closed = true;
    ticker.shutdownNow();
    boolean interrupted = Thread.interrupted();
    try {
      if (!ticker.awaitTermination(settings.storeTimeout().toNanos(), TimeUnit.NANOSECONDS)) {
        log.debug("The thread of the sessions is still busy");
      }
    } catch (InterruptedException e) {
      interrupted = true;
    }
    Budget budget = budget();
    for (Attempt attempt : attempts.values()) {
      try {
        leave(attempt, budget);
      } catch (StoreException e) {
        log.debug("Session {} ends by its TTL", attempt.session().id(), e);
      }
    }
    for (Attempt attempt : List.copyOf(deletionsAtNanos.keySet())) {
      deleteIfDue(attempt, deletionsAtNanos.getOrDefault(attempt, time.nanos()));
    }
    http.close();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
