package io.holdfast.lock.redis;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.redis.Server.Answer;
import io.holdfast.lock.redis.Server.WithoutPool;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
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
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The protocol on Redis: one script per step, each one trip. Every grant and every place in a line
 * bears its owner id, so any of them may be sent again.
 */
final class RedisStore implements LockStore {
  /** How often a waiter looks if it hears nothing; each look keeps its place alive. */
  static final Duration RECHECK_AFTER = Duration.ofMillis(1_500);

  /** For how long a waiter that no longer looks keeps its place. */
  static final Duration PLACE_LASTS = Duration.ofMillis(4_500);

  /**
   * For how long a lock that was handed over waits for its new holder to confirm that it lives; and
   * from its last look, what that holder has at first. At least twice {@link #RECHECK_AFTER}, or it
   * would have to ask.
   */
  static final Duration CLAIM_LASTS = Duration.ofSeconds(3);

  /** A grant's key expires within this, by the server's clock, after its TTL is over. */
  private static final Duration RECHECK_SLACK = Duration.ofMillis(2);

  private static final int RENEWED_AT_ONCE_MAX = 1_000;
  static final int VERSION_MIN = 7 << 16;

  private final Primaries primaries;
  private final String prefix;
  private final Duration numbersKept;
  private final @Nullable Replicas replicas;
  private final Duration storeTimeout;
  private final Server server;
  private final Inbox inbox;

  private RedisStore(
      Primaries primaries,
      String prefix,
      Duration numbersKept,
      @Nullable Replicas replicas,
      StoreSettings settings) {
    this.primaries = primaries;
    this.prefix = prefix;
    this.numbersKept = numbersKept;
    this.replicas = replicas;
    this.storeTimeout = settings.storeTimeout();
    this.server = new Server(primaries, storeTimeout);
    this.inbox = new Inbox(
        primaries, settings.time(), prefix, "holdfast-" + settings.clientName() + "-inbox");
  }

  /**
   * Opens the store for one client.
   *
   * @param numbersKept for how long after its grant a number is kept
   * @param replicas who must have a grant before it counts; null: nobody
   * @throws IllegalStateException the server is too old
   */
  static RedisStore open(
      Primaries primaries,
      String prefix,
      Duration numbersKept,
      @Nullable Replicas replicas,
      StoreSettings settings)
      throws StoreException {
    RedisStore store = new RedisStore(primaries, prefix, numbersKept, replicas, settings);
    boolean opened = false;
    try {
      store.checkVersion();
      opened = true;
      return store;
    } finally {
      if (!opened) {
        store.close();
      }
    }
  }

  private void checkVersion() throws StoreException {
    Answer answer = server.run(new Call(Script.CHECK, prefix + ":{check}"), WithoutPool.FAIL);
    if (!(answer.reply() instanceof Long version && version >= VERSION_MIN)) {
      throw new IllegalStateException("The server is older than Redis 7.0, which is the oldest that"
          + " is supported: update it, or use Valkey");
    }
  }

  /** What an attempt found. */
  sealed interface Attempted {
    /** The lock is the claim's. */
    record Taken(RedisGrant grant) implements Attempted {}

    /**
     * Somebody else has it.
     *
     * @param repeated whether it was asked twice: the first time perhaps of another server
     */
    record Busy(String holder, Duration recheckAfter, boolean repeated) implements Attempted {}
  }

  @Override
  public void checkOptions(LockOptions options) {
    // All that the engine allows.
  }

  @Override
  public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
    String key = key(claim.key());
    Call call = acquireCall(key, claim.ownerId(), claim, numbersKept);
    return attempt(claim, key, call) instanceof Attempted.Taken taken
        ? Optional.of(taken.grant())
        : Optional.empty();
  }

  @Override
  public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
    QueueTicket ticket = new QueueTicket(this, claim, wakeUp);
    Attempted attempted = ticket.look();
    return attempted instanceof Attempted.Taken taken
        ? new Acquisition.Granted(taken.grant())
        : new Acquisition.Queued(ticket, ((Attempted.Busy) attempted).recheckAfter());
  }

  /** Takes the lock, or joins its line, or keeps the place there alive: then the ticket hears. */
  Attempted attemptOrQueue(Claim claim, QueueTicket ticket, long look) throws StoreException {
    // Before the server can call it.
    inbox.expect(claim.ownerId(), ticket);
    boolean waits = false;
    try {
      Attempted attempted = attemptOrQueue(claim, look);
      waits = attempted instanceof Attempted.Busy;
      return attempted;
    } finally {
      if (!waits) {
        stopWaiting(claim);
      }
    }
  }

  private Attempted attemptOrQueue(Claim claim, long look) throws StoreException {
    String key = key(claim.key());
    Call call = acquireCall(
        key,
        claim.ownerId(),
        claim,
        numbersKept,
        PLACE_LASTS.toMillis()
            + "|"
            + Keys.millisUp(claimLasts(claim))
            + "|"
            + look
            + "|"
            + inbox.channel());
    Attempted attempted = attempt(claim, key, call);
    if (attempted instanceof Attempted.Busy) {
      inbox.listen();
    }
    return attempted;
  }

  /**
   * Asks for a lock.
   *
   * @param ownerId of the claim, or of a round of it
   * @param line what acquire.lua needs to join the line; left out: it joins none
   */
  static Call acquireCall(
      String key, String ownerId, Claim claim, Duration numbersKept, Object... line) {
    List<Object> arguments = new ArrayList<>(List.of(
        ownerId,
        Long.toString(Keys.millisUp(claim.ttl())),
        Long.toString(Keys.millisUp(numbersKept)),
        claim.holder()));
    arguments.addAll(List.of(line));
    return new Call(Script.ACQUIRE, key, arguments.toArray());
  }

  private Attempted attempt(Claim claim, String key, Call call) throws StoreException {
    Answer answer = server.run(call.confirmedBy(replicas), WithoutPool.FAIL);
    Object reply = answer.reply();
    if (reply instanceof Long number) {
      return new Attempted.Taken(new RedisGrant(claim, number, claim.ttl(), key, this));
    }
    if (reply instanceof List<?> busy && busy.size() == 2) {
      return new Attempted.Busy(
          Reply.text(busy.get(1)), recheckAfter(busy.get(0)), answer.repeated());
    }
    throw Reply.noAnswer(reply);
  }

  /** What a message is worth; nothing where replicas are to confirm the grant. */
  Optional<Grant> handedOver(Claim claim, long number) {
    if (replicas != null) {
      return Optional.empty();
    }
    stopWaiting(claim);
    return Optional.of(new RedisGrant(claim, number, claimLasts(claim), key(claim.key()), this));
  }

  private static Duration claimLasts(Claim claim) {
    return claim.ttl().compareTo(CLAIM_LASTS) < 0 ? claim.ttl() : CLAIM_LASTS;
  }

  private static Duration recheckAfter(@Nullable Object timeLeft) {
    if (!(timeLeft instanceof Long millis) || millis < 0) {
      return RECHECK_AFTER;
    }
    Duration over = Duration.ofMillis(millis).plus(RECHECK_SLACK);
    return over.compareTo(RECHECK_AFTER) < 0 ? over : RECHECK_AFTER;
  }

  void stopWaiting(Claim claim) {
    inbox.forget(claim.ownerId());
  }

  @Override
  public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
    Answer answer = server.runOnGrant(
        releaseCall(keyOf(grant), grant.claim().ownerId(), holdFor), WithoutPool.USE_OWN);
    // Of two requests the first may have got through, and then the second finds nothing.
    return Reply.isOne(answer.reply()) || answer.repeated()
        ? ReleaseOutcome.RELEASED
        : ReleaseOutcome.ALREADY_LOST;
  }

  static Call releaseCall(String key, String ownerId, Duration holdFor) {
    return holdFor.isZero()
        ? new Call(Script.RELEASE, key, ownerId)
        : new Call(Script.RELEASE, key, ownerId, Long.toString(Keys.millisUp(holdFor)));
  }

  @Override
  public void withdraw(Claim claim) throws StoreException {
    Answer unused = server.runOnGrant(
        new Call(Script.WITHDRAW, key(claim.key()), claim.ownerId()), WithoutPool.USE_OWN);
  }

  @Override
  public Object renewalGroup(Grant grant) {
    return primaries.group(keyOf(grant));
  }

  /** Server by server, should some have moved since they were grouped. */
  @Override
  public List<Renewal> renew(List<Grant> grants) throws StoreException {
    Map<Object, List<Integer>> groups = new LinkedHashMap<>();
    for (int i = 0; i < grants.size(); i++) {
      groups
          .computeIfAbsent(renewalGroup(grants.get(i)), k -> new ArrayList<>())
          .add(i);
    }
    Renewal[] results = new Renewal[grants.size()];
    StoreException failure = null;
    for (List<Integer> group : groups.values()) {
      for (int from = 0; from < group.size(); from += RENEWED_AT_ONCE_MAX) {
        List<Integer> part =
            group.subList(from, Math.min(group.size(), from + RENEWED_AT_ONCE_MAX));
        List<Renewal> renewed;
        try {
          renewed = renewPart(part.stream().map(grants::get).toList());
        } catch (StoreException e) {
          failure = e;
          break;
        }
        for (int i = 0; i < part.size(); i++) {
          results[part.get(i)] = renewed.get(i);
        }
      }
    }
    if (failure != null) {
      for (int i = 0; i < results.length; i++) {
        if (results[i] == null) {
          results[i] = new Renewal.Unknown(failure);
        }
      }
    }
    return List.of(results);
  }

  private List<Renewal> renewPart(List<Grant> grants) throws StoreException {
    List<Call> calls = new ArrayList<>(grants.size());
    for (Grant grant : grants) {
      calls.add(renewCall(keyOf(grant), grant.claim().ownerId(), grant.claim().ttl()));
    }
    List<Object> replies = server.runAllOnGrants(calls);
    List<Renewal> results = new ArrayList<>(grants.size());
    for (int i = 0; i < grants.size(); i++) {
      Object reply = replies.get(i);
      if (reply instanceof StoreException e) {
        results.add(new Renewal.Unknown(e));
      } else {
        results.add(
            Reply.isOne(reply)
                ? new Renewal.Renewed(grants.get(i).claim().ttl())
                : new Renewal.Lost());
      }
    }
    return results;
  }

  static Call renewCall(String key, String ownerId, Duration ttl) {
    return new Call(Script.RENEW, key, ownerId, Long.toString(Keys.millisUp(ttl)));
  }

  /** Replicas are not waited for, as with a renewal. */
  @Override
  public Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException {
    return Reply.left(server
        .runOnGrant(extendCall(keyOf(grant), grant.claim().ownerId(), ttl), WithoutPool.USE_OWN)
        .reply());
  }

  static Call extendCall(String key, String ownerId, Duration ttl) {
    return new Call(Script.EXTEND, key, ownerId, Long.toString(Keys.millisUp(ttl)));
  }

  /** By the script that extends, for no time: only a server that takes writes answers that. */
  @Override
  public Optional<Duration> verify(Grant grant) throws StoreException {
    return extend(grant, Duration.ZERO);
  }

  @Override
  public Optional<StoredHolder> inspect(LockKey key) throws StoreException {
    Object look = server.run(lookCall(key(key)), WithoutPool.FAIL).reply();
    return Optional.ofNullable(Reply.Held.of(look)).map(Reply.Held::stored);
  }

  static Call lookCall(String key) {
    return new Call(Script.LOOK, key);
  }

  @Override
  public List<StoredLock> list(LockKind kind, String namePrefix, int limit) throws StoreException {
    return new LockList(
            server, new NameRange(prefix, kind, namePrefix), Server.deadlineAfter(storeTimeout))
        .read(limit);
  }

  @Override
  public boolean forceRelease(LockKey key, long number) throws StoreException {
    Answer answer = server.runOnGrant(
        new Call(Script.FORCE_RELEASE, key(key), Long.toString(number)), WithoutPool.USE_OWN);
    boolean freed = Reply.isOne(answer.reply());
    if (!freed && answer.repeated()) {
      throw StoreException.unanswered(
          "The connection broke, and now the grant does not have the lock: it may have been freed",
          null);
    }
    return freed;
  }

  Server server() {
    return server;
  }

  private static String keyOf(Grant grant) {
    return ((RedisGrant) grant).key();
  }

  String key(LockKey key) {
    return Keys.of(prefix, key);
  }

  @Override
  public void close() {
    inbox.close();
    server.close();
  }
}
