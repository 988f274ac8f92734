package io.holdfast.lock.redis.store;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.redis.server.Call;
import io.holdfast.lock.redis.server.Daemons;
import io.holdfast.lock.redis.server.Hedging;
import io.holdfast.lock.redis.server.Keys;
import io.holdfast.lock.redis.server.LockList;
import io.holdfast.lock.redis.server.Primaries;
import io.holdfast.lock.redis.server.Replicas;
import io.holdfast.lock.redis.server.Reply;
import io.holdfast.lock.redis.server.Reply.Acquired;
import io.holdfast.lock.redis.server.Scripts;
import io.holdfast.lock.redis.server.Server;
import io.holdfast.lock.redis.server.Server.Answer;
import io.holdfast.lock.redis.server.Server.Mode;
import io.holdfast.lock.redis.server.ServerFacts;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.PermitStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.StoredPermit;
import java.time.Duration;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The lock protocol on Redis. Each step on one lock is one script, and as a rule one round trip;
 * waiting for replicas takes another. Every grant and every place in line is stored with its owner
 * id, so every step may be sent again.
 */
public final class RedisStore implements PermitStore {
  private static final Duration TURN_LASTS_MIN = Duration.ofSeconds(3);

  /**
   * The time that a waiter adds to the time left of a grant, so that the grant is over when it
   * polls: the server counts whole milliseconds, and a grant stands to the end of the last one.
   */
  private static final Duration RECHECK_SLACK = Duration.ofMillis(2);

  private final Primaries primaries;
  private final String prefix;
  private final Duration numbersKept;
  private final @Nullable Replicas replicas;
  private final Duration storeTimeout;

  /** The least length of a turn: for how long a hand-over certainly stands. */
  private final Duration turnLastsMin;

  private final Server server;
  final Inbox inbox;

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
    this.turnLastsMin = turnLasts(storeTimeout, Inbox.RECHECK_AFTER_MIN);
    String threadName = "holdfast-" + settings.clientName();
    this.server = new Server(primaries, storeTimeout, threadName);
    this.inbox = new Inbox(
        primaries,
        settings.time(),
        storeTimeout,
        prefix,
        task -> Daemons.thread(threadName + "-inbox", task));
  }

  /**
   * Opens the store for one client.
   *
   * @param numbersKept the time for which a number is kept after its grant
   * @param replicas the replicas that must have a grant before it counts; null if none must
   * @throws IllegalStateException the server is too old
   */
  public static RedisStore open(
      Primaries primaries,
      String prefix,
      Duration numbersKept,
      @Nullable Replicas replicas,
      StoreSettings settings)
      throws StoreException {
    RedisStore store = new RedisStore(primaries, prefix, numbersKept, replicas, settings);
    try {
      ServerFacts.ask(store.server, prefix).findProblem().ifPresent(problem -> {
        throw new IllegalStateException(problem);
      });
      return store;
    } catch (StoreException | RuntimeException | Error e) {
      store.close();
      throw e;
    }
  }

  /** The answer to a request for the lock. */
  sealed interface Asked {
    /** The claim has the lock. */
    record Granted(RedisGrant grant) implements Asked {}

    /**
     * Another owner has the lock.
     *
     * @param endsAfter the time after which that owner's grant is over
     * @param repeated whether the request was sent again, and the first one perhaps to another
     *     server
     */
    record Busy(String holder, Duration endsAfter, boolean repeated) implements Asked {}
  }

  @Override
  public void checkOptions(LockOptions options) {
    // Everything that the engine allows is supported.
  }

  @Override
  public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
    // Busy is final even if repeated: either all requests were answered, or the first one's
    // connection was closed; should it come late all the same, the name is taken for one TTL at
    // most (L-6.9).
    return ask(claim, "") instanceof Asked.Granted granted
        ? Optional.of(granted.grant())
        : Optional.empty();
  }

  @Override
  public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
    return new QueueTicket(this, claim, wakeUp).join();
  }

  /**
   * Takes the lock, or joins its line, or keeps the place there alive. If the lock is taken, the
   * ticket gets messages from then on.
   *
   * @param nextPollAfter the time after which the ticket polls again
   */
  Asked askOrQueue(Claim claim, QueueTicket ticket, long poll, Duration nextPollAfter)
      throws StoreException {
    Duration turn = turnLasts(storeTimeout, nextPollAfter);
    String place = "%s|%s|%s|%s"
        .formatted(
            turn.plus(nextPollAfter).toMillis(), // its place, without another poll
            Keys.millisUp(Collections.min(List.of(claim.ttl(), turn))),
            poll,
            inbox.channel);
    // Registered before the server can send it a message.
    inbox.expect(claim.ownerId(), ticket);
    boolean waits = false;
    try {
      Asked asked = ask(claim, place);
      if (asked instanceof Asked.Busy) {
        inbox.listen();
        waits = true;
      }
      return asked;
    } finally {
      if (!waits) {
        inbox.forget(claim.ownerId());
      }
    }
  }

  /**
   * Asks for the lock.
   *
   * @param place the script's argument about a place in line; empty: it joins no line
   */
  private Asked ask(Claim claim, String place) throws StoreException {
    Call call = Call.acquire(prefix, claim.ownerId(), claim, numbersKept, place);
    Acquired acquired = Acquired.of(server.run(call.confirmedBy(replicas), Mode.ASK), claim);
    if (acquired instanceof Acquired.Granted granted) {
      return new Asked.Granted(
          new RedisGrant(claim, granted.number(), granted.permit(), claim.ttl(), this));
    }
    Acquired.Busy busy = (Acquired.Busy) acquired;
    Duration endsAfter = Duration.ofMillis(busy.leftMillis()).plus(RECHECK_SLACK);
    return new Asked.Busy(busy.holder(), endsAfter, busy.repeated());
  }

  /**
   * Returns the grant that a message proves, and stops waiting for messages; empty if replicas must
   * confirm it.
   */
  Optional<Grant> takeOver(Claim claim, HandedOver news) {
    if (replicas != null) {
      return Optional.empty();
    }
    inbox.forget(claim.ownerId());
    Duration validFor = Collections.min(List.of(claim.ttl(), turnLastsMin));
    return Optional.of(new RedisGrant(claim, news.number(), news.permit(), validFor, this));
  }

  /**
   * Returns the length of a turn: the TTL of a lock that was handed over, until its new holder
   * renews it. The holder may have died while it waited. It counts its turn from when its last poll
   * was sent, and finds out at the next one if the message is lost; so a turn is the time between
   * polls, that of a slow round trip, and that after which a silent renewal is sent once more.
   * Without another poll, a waiter keeps its place for as long, and the time between polls once
   * more.
   */
  static Duration turnLasts(Duration storeTimeout, Duration nextPollAfter) {
    Duration turn = nextPollAfter.plus(Hedging.silentAfter(storeTimeout).multipliedBy(2));
    return Collections.max(List.of(TURN_LASTS_MIN, turn));
  }

  @Override
  public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
    Claim claim = grant.claim();
    Answer answer =
        server.run(Call.release(prefix, claim.key(), claim.ownerId(), holdFor), Mode.ON_GRANT);
    return answer.released();
  }

  @Override
  public void withdraw(Claim claim) throws StoreException {
    Answer unused = server.run(Call.withdraw(prefix, claim.key(), claim.ownerId()), Mode.ON_GRANT);
  }

  @Override
  public Object renewalGroup(Grant grant) {
    return primaries.group(Keys.of(prefix, grant.claim().key()));
  }

  @Override
  public List<Renewal> renew(List<Grant> grants) {
    List<Object> replies = server.renew(grants.stream()
        .map(Grant::claim)
        .map(claim -> Call.renew(prefix, claim, claim.ownerId()))
        .toList());
    return IntStream.range(0, grants.size())
        .mapToObj(i -> renewal(grants.get(i), replies.get(i)))
        .toList();
  }

  private static Renewal renewal(Grant grant, Object reply) {
    if (Reply.isOne(reply)) {
      return new Renewal.Renewed(grant.claim().ttl());
    } else if (Reply.isZero(reply)) {
      return new Renewal.Lost();
    }
    return new Renewal.Unknown(reply instanceof StoreException e ? e : Reply.noAnswer(reply));
  }

  /**
   * Extends a fixed lease, or one that was handed over. Like a renewal, this does not wait for
   * replicas.
   */
  @Override
  public Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException {
    Claim claim = grant.claim();
    Call call = Call.extend(prefix, claim, claim.ownerId(), ttl);
    return server.run(call, Mode.ON_GRANT).left();
  }

  /** Runs the script that extends, with zero time: only a server that takes writes answers it. */
  @Override
  public Optional<Duration> verify(Grant grant) throws StoreException {
    return extend(grant, Duration.ZERO);
  }

  @Override
  public Optional<StoredHolder> inspect(LockKey key) throws StoreException {
    return look(key).stream().map(Reply.Held::holder).findFirst();
  }

  @Override
  public List<StoredHolder> readers(LockKey key) throws StoreException {
    return look(key).stream()
        .filter(Reply.Held::isReader)
        .map(Reply.Held::holder)
        .toList();
  }

  @Override
  public List<StoredPermit> holders(LockKey key) throws StoreException {
    return look(key).stream()
        .map(held -> new StoredPermit(held.permit(), held.holder()))
        .sorted(Comparator.comparingInt(StoredPermit::permit))
        .toList();
  }

  private List<Reply.Held> look(LockKey key) throws StoreException {
    return Reply.Held.all(server.run(Call.look(prefix, key), Mode.ASK).reply());
  }

  @Override
  public List<StoredLock> list(LockKind kind, String namePrefix, int limit) throws StoreException {
    Deadline deadline = Server.deadlineAfter(storeTimeout);
    return new LockList(server, prefix, kind, namePrefix, deadline).read(limit);
  }

  @Override
  public boolean forceRelease(LockKey key, long number) throws StoreException {
    return server.run(Call.forceRelease(prefix, key, number), Mode.ON_GRANT).forceReleased();
  }

  /**
   * Runs a caller's script on the server that has the lock, if the claim has it there. It is sent
   * once.
   *
   * @param scripts made by {@link Scripts#guarded}
   * @return the script's result, as Redis sends it
   * @throws IllegalArgumentException a key is in another slot of the Cluster than the lock
   * @throws StoreException the server gave no usable answer, or the claim does not have the lock
   *     (see {@link io.holdfast.lock.redis.server.Failures#isOfALostLease})
   */
  public @Nullable Object runGuarded(
      Claim claim, Scripts scripts, List<String> keys, List<String> arguments)
      throws StoreException {
    primaries.checkTogether(Keys.of(prefix, claim.key()), keys);
    return server
        .run(Call.guarded(scripts, prefix, claim, keys, arguments), Mode.ONCE)
        .reply();
  }

  @Override
  public void close() {
    inbox.close();
    server.close();
    primaries.close();
  }
}
