package io.holdfast.lock.consul;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
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
  private final @Nullable Duration lockDelay;
  private final StoreSettings settings;
  private final TimeSource time;
  private final Marks marks;
  private final ScheduledThreadPoolExecutor ticker;

  /** Attempts that have a session, by their claims' owner ids. */
  private final Map<String, Attempt> attempts = new ConcurrentHashMap<>();

  /** Attempts whose keys are to go, and when. */
  private final Map<Attempt, Long> deletionsAtNanos = new ConcurrentHashMap<>();

  private volatile boolean closed;

  /** @param lockDelay null: as long as a holder can believe in a lease whose session has ended */
  ClassicStore(
      ConsulHttp.Settings http,
      String prefix,
      @Nullable Duration lockDelay,
      StoreSettings settings) {
    this.http = new ConsulHttp(
        http, settings.storeTimeout(), "holdfast-" + settings.clientName() + "-consul");
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

  long nowNanos() {
    return time.nanos();
  }

  Deadline deadline() {
    // Sockets keep real time, whatever clock leases are counted by.
    return Deadline.after(settings.storeTimeout(), TimeSource.system());
  }

  /** Makes sure that there is a Consul that lets this client read its keys. */
  void probe() throws StoreException {
    List<Entry> unused = http.read(new Transaction().tree(keys.prefix() + "/probe/"), deadline());
  }

  // ---- acquire ----

  @Override
  public void checkOptions(LockOptions options) {
    Session.checkOptions(options);
  }

  @Override
  public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
    Deadline deadline = deadline();
    if (look(claim.key(), deadline) instanceof Look.Taken) {
      return Optional.empty();
    }
    Attempt attempt = begin(claim, deadline);
    try {
      if (ask(attempt, deadline) instanceof Answer.Yes yes) {
        return Optional.of(yes.grant());
      }
    } catch (StoreException e) {
      if (!e.mayHaveHappened()) {
        abandon(attempt, deadline);
      }
      throw e;
    }
    abandon(attempt, deadline);
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

  Look look(LockKey key, Deadline deadline) throws StoreException {
    while (true) {
      Entry entry = read(keys.key(key), deadline);
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
      long leftNanos = marks.clear(entry, mark, deadline);
      if (leftNanos > 0) {
        return new Look.Taken(entry, Duration.ofNanos(leftNanos));
      }
    }
  }

  private @Nullable Entry read(String key, Deadline deadline) throws StoreException {
    // A key that is not there is no error in a tree; what else begins so is not meant.
    for (Entry entry : http.read(new Transaction().tree(key), deadline)) {
      if (entry.key().equals(key)) {
        return entry;
      }
    }
    return null;
  }

  /** Makes a session for an attempt. */
  Attempt begin(Claim claim, Deadline deadline) throws StoreException {
    if (closed) {
      throw StoreException.refused("The client was closed", null);
    }
    long ttlSeconds = Session.ttlSeconds(claim);
    Duration delay = lockDelay == null
        ? Duration.ofSeconds(Math.min(ttlSeconds, ConsulLocks.LOCK_DELAY_SECONDS_MAX))
        : lockDelay;
    Session.Sent sent = Session.Sent.now(time);
    Session session =
        new Session(requests.create(ttlSeconds, delay, deadline), ttlSeconds, true, sent, 0, delay);
    Attempt attempt =
        new Attempt(claim, session, keys.key(claim.key()), time.nanos(), time.wallMillis());
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

  Answer ask(Attempt attempt, Deadline deadline) throws StoreException {
    Session session = attempt.session();
    long sentNanos = time.nanos();
    ConsulHttp.Outcome outcome = http.transact(
        new Transaction()
            // The same text each time, so that a request that is sent twice changes nothing.
            .lock(attempt.key(), Mark.attempt(attempt).text(), FLAGS, session.id()),
        deadline);
    if (outcome instanceof ConsulHttp.Outcome.Applied applied) {
      for (Entry entry : applied.entries()) {
        if (entry.key().equals(attempt.key())) {
          // The index rises whatever becomes of the key; how often it was locked does not.
          attempt.joined(entry.modifyIndex());
          ConsulGrant grant = attempt.hold(sentNanos);
          // Whoever finds the session gone either sees the grant, and tells, or is seen here.
          return grant == null || session.isLost()
              ? new Answer.SessionGone()
              : new Answer.Yes(grant);
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
  void abandon(Attempt attempt, Deadline deadline) {
    forget(attempt);
    requests.destroy(attempt.session().id(), deadline);
  }

  private void forget(Attempt attempt) {
    attempt.end();
    attempt.session().markLost();
    attempts.remove(attempt.claim().ownerId(), attempt);
  }

  // ---- release ----

  private ConsulHttp.Outcome deleteOwn(Attempt attempt, Deadline deadline) throws StoreException {
    return http.transact(
        new Transaction().checkSession(attempt.key(), attempt.session().id()).delete(attempt.key()),
        deadline);
  }

  @Override
  public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
    Attempt attempt = ((ConsulGrant) grant).attempt();
    Deadline deadline = deadline();
    long leftNanos = attempt.leftNanos(time.nanos());
    ConsulHttp.Outcome outcome;
    try {
      outcome = holdFor.isZero()
          ? deleteOwn(attempt, deadline)
          : http.transact(
              new Transaction()
                  .checkSession(attempt.key(), attempt.session().id())
                  .lock(
                      attempt.key(),
                      Mark.released(attempt, attempt.number(), holdFor.toNanos())
                          .text(),
                      FLAGS,
                      attempt.session().id()),
              deadline);
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
    abandon(attempt, deadline);
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
      leave(attempt, deadline());
    }
  }

  /**
   * Takes away what an attempt may have; what arrives later finds no session. After a failure that
   * goes on in the background, and the session is not renewed any more.
   */
  private void leave(Attempt attempt, Deadline deadline) throws StoreException {
    attempt.end();
    deletionsAtNanos.putIfAbsent(attempt, time.nanos() + jittered(RETRY_NANOS));
    end(attempt, deadline);
  }

  private void end(Attempt attempt, Deadline deadline) throws StoreException {
    ConsulHttp.Outcome unused = deleteOwn(attempt, deadline);
    requests.destroyForCertain(attempt.session().id(), deadline);
    deletionsAtNanos.remove(attempt);
    forget(attempt);
  }

  // ---- renew ----

  @Override
  public Object renewalGroup(Grant grant) {
    return ((ConsulGrant) grant).attempt().session();
  }

  @Override
  public List<Renewal> renew(List<Grant> grants) throws StoreException {
    Deadline deadline = deadline();
    ConsulGrant grant = (ConsulGrant) grants.get(0);
    Attempt attempt = grant.attempt();
    long sentNanos = time.nanos();
    // The session may live and the key be gone: taken by force.
    if (!renew(attempt, deadline)) {
      return List.of(new Renewal.Lost());
    }
    if (!isHolder(grant, deadline)) {
      settings.events().lost(grant, LeaseLoss.Reason.TAKEN);
      forget(attempt);
      deletionsAtNanos.put(attempt, time.nanos());
      return List.of(new Renewal.Lost());
    }
    Optional<Duration> validFor = attempt.extend(sentNanos, attempt.claim().ttl(), time.nanos());
    return List.of(validFor.isPresent() ? new Renewal.Renewed(validFor.get()) : new Renewal.Lost());
  }

  private boolean renew(Attempt attempt, Deadline deadline) throws StoreException {
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

  /** Whoever writes to the key takes it away: it could be another grant of the same session. */
  private boolean isHolder(ConsulGrant grant, Deadline deadline) throws StoreException {
    Entry entry = read(grant.attempt().key(), deadline);
    return entry != null
        && entry.session().equals(grant.attempt().session().id())
        && entry.modifyIndex() == grant.number();
  }

  @Override
  public Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException {
    return confirm((ConsulGrant) grant, ttl);
  }

  @Override
  public Optional<Duration> verify(Grant grant) throws StoreException {
    return confirm((ConsulGrant) grant, Duration.ZERO);
  }

  /**
   * Asks whether the grant has the lock, and keeps it for at least that long if so. Consul knows
   * nothing of a lease's end: this client deletes the key then.
   */
  private Optional<Duration> confirm(ConsulGrant grant, Duration ttl) throws StoreException {
    long sentNanos = time.nanos();
    Attempt attempt = grant.attempt();
    Deadline deadline = deadline();
    // Only a session that was just renewed is known to last for longer.
    return renew(attempt, deadline) && isHolder(grant, deadline)
        ? attempt.extend(sentNanos, ttl, time.nanos())
        : Optional.empty();
  }

  // ---- others' locks ----

  @Override
  public Optional<StoredHolder> inspect(LockKey key) throws StoreException {
    Entry entry = read(keys.key(key), deadline());
    if (entry == null || entry.session().isEmpty()) {
      return Optional.empty();
    }
    marks.forgetOld();
    return Optional.of(holder(entry));
  }

  private StoredHolder holder(Entry entry) {
    return marks.holder(entry, entry.modifyIndex(), describe(entry));
  }

  /** Asks for the keys first, of which most may be something else, since Consul has no pages. */
  @Override
  public List<StoredLock> list(LockKind kind, String namePrefix, int limit) throws StoreException {
    Deadline deadline = deadline();
    marks.forgetOld();
    List<LockKey> locks = http.keys(keys.all(namePrefix), "", deadline).stream()
        .map(key -> keys.lock(kind, key))
        .flatMap(Optional::stream)
        .filter(lock -> lock.name().startsWith(namePrefix))
        .toList();
    List<StoredLock> held = new ArrayList<>();
    for (int from = 0; from < locks.size() && held.size() < limit; ) {
      int to =
          Math.min(locks.size(), from + Math.min(Transaction.OPERATIONS_MAX, limit - held.size()));
      Transaction look = new Transaction();
      Map<String, LockKey> wanted = new HashMap<>();
      for (LockKey lock : locks.subList(from, to)) {
        look.tree(keys.key(lock));
        wanted.put(keys.key(lock), lock);
      }
      from = to;
      for (Entry entry : http.read(look, deadline)) {
        // What else begins so is not meant, or is told of twice.
        LockKey lock = wanted.remove(entry.key());
        if (lock != null && !entry.session().isEmpty()) {
          held.add(new StoredLock(lock, holder(entry), OptionalInt.empty()));
        }
      }
    }
    return held;
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
    Deadline deadline = deadline();
    while (true) {
      Entry entry = read(keys.key(key), deadline);
      if (entry == null || entry.session().isEmpty() || entry.modifyIndex() != number) {
        return false;
      }
      ConsulHttp.Outcome outcome =
          http.transact(new Transaction().deleteAt(entry.key(), number), deadline);
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
    } catch (RuntimeException | Error e) {
      // Whatever it is: without this thread, sessions would end and keys would stay.
      log.error("Sessions could not be tended", e);
    }
  }

  private void tend(Attempt attempt, long nowNanos) {
    if (deletionsAtNanos.containsKey(attempt)) {
      return;
    }
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
        boolean unused = renew(attempt, deadline());
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
    Deadline deadline = deadline();
    try {
      end(attempt, deadline);
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
    boolean ended = deadline()
        .awaitUninterruptibly(
            leftNanos -> ticker.awaitTermination(leftNanos, TimeUnit.NANOSECONDS));
    if (!ended) {
      log.debug("The thread of the sessions is still busy");
    }
    Deadline deadline = deadline();
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
    http.close();
  }
}
