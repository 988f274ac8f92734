package io.holdfast.lock.redis;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.redis.Server.WithoutPool;
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
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.util.Pool;

/**
 * The protocol on several servers that know nothing of each other: a lock is held by the attempt
 * whose key most of them have. All servers are asked at once, and what most of them say counts; the
 * rest is not waited for.
 *
 * <p>Numbers: each server of the majority that gives its key also gives the number that it would
 * take next. The highest of those becomes the grant's, and is written to a majority, where the
 * attempt must still have the key, before the grant is returned. The next grant's majority has a
 * server in common with that one, at which it got the key later; so its number is higher.
 *
 * <p>Owner ids: an attempt asks in rounds, and gives back what is no majority after each. Every
 * round has an id of its own, or what gives one back, and comes late, would take what the next one
 * got. A later round takes over what an earlier one still has. An attempt that is given up
 * withdraws all that begins with what its rounds have in common.
 */
final class QuorumStore implements LockStore {
  private static final int RENEWED_AT_ONCE_MAX = 1_000;

  /** How often an attempt is made again at once if those who ask have split the servers. */
  private static final int SPLITS_MAX = 6;

  private static final long SPLIT_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(4);
  private static final long LOOK_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
  private static final String UNKNOWN_HOLDER = "several that ask at the same time";

  /** How much of an owner id the rounds of an attempt have in common; acquire.lua knows. */
  private static final int ROUNDS_HAVE_IN_COMMON = 24;

  private final List<Voter> voters;
  private final String prefix;
  private final Duration numbersKept;
  private final Duration storeTimeout;
  private final AtomicInteger rounds = new AtomicInteger();

  private QuorumStore(
      List<Pool<Connection>> pools, String prefix, Duration numbersKept, StoreSettings settings) {
    this.prefix = prefix;
    this.numbersKept = numbersKept;
    this.storeTimeout = settings.storeTimeout();
    this.voters = new ArrayList<>();
    for (int i = 0; i < pools.size(); i++) {
      Pool<Connection> pool = pools.get(i);
      voters.add(new Voter(
          new Server(key -> pool, storeTimeout),
          storeTimeout,
          "holdfast-" + settings.clientName() + "-server-" + i));
    }
  }

  /**
   * Opens the store for one client.
   *
   * @param numbersKept for how long after its grant a number is kept
   * @throws IllegalStateException a server is too old, or two are one
   */
  static QuorumStore open(
      List<Pool<Connection>> pools, String prefix, Duration numbersKept, StoreSettings settings)
      throws StoreException {
    QuorumStore store = new QuorumStore(pools, prefix, numbersKept, settings);
    boolean opened = false;
    try {
      new QuorumCheck(store.voters, prefix, store.storeTimeout).run();
      opened = true;
      return store;
    } finally {
      if (!opened) {
        store.close();
      }
    }
  }

  /** What an attempt found. */
  sealed interface Attempted {
    /** The lock is the claim's. */
    record Taken(QuorumGrant grant) implements Attempted {}

    /** Somebody else has it. */
    record Busy(String holder) implements Attempted {}

    /** Nobody was seen to have a majority, again and again. */
    record Split() implements Attempted {}
  }

  /** A lease is to last longer than the call that asks for it, also by servers' clocks. */
  @Override
  public void checkOptions(LockOptions options) {
    if (QuorumGrant.lessDrift(options.ttl()).compareTo(storeTimeout) <= 0) {
      throw new IllegalArgumentException("A TTL of "
          + options.ttl()
          + " is too short for a quorum with a store timeout of "
          + storeTimeout
          + ", since of each TTL 1 % and 2 ms are left for the servers' clocks: take a TTL of at"
          + " least "
          + QuorumGrant.withDrift(storeTimeout)
          + ", or build the client with a shorter storeTimeout");
    }
  }

  /**
   * {@inheritDoc}
   *
   * <p>Its "no" is final. So it is not given for servers that others have between them, or that a
   * release has not reached yet, while there is time to ask again.
   */
  @Override
  public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
    Deadline deadline = Server.deadlineAfter(storeTimeout);
    Attempted attempted;
    do {
      attempted = attempt(claim, deadline);
    } while (attempted instanceof Attempted.Split && !deadline.isOver());
    return attempted instanceof Attempted.Taken taken
        ? Optional.of(taken.grant())
        : Optional.empty();
  }

  @Override
  public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
    Attempted attempted = attempt(claim);
    if (attempted instanceof Attempted.Taken taken) {
      return new Acquisition.Granted(taken.grant());
    }
    QuorumTicket ticket = new QuorumTicket(this, claim, holder(attempted));
    return new Acquisition.Queued(ticket, ticket.recheckAfter());
  }

  /** For a human: who has the lock that the attempt did not get. */
  static String holder(Attempted attempted) {
    return attempted instanceof Attempted.Busy busy ? busy.holder() : UNKNOWN_HOLDER;
  }

  /** Asks all servers for the lock, and gives back what is no majority. */
  Attempted attempt(Claim claim) throws StoreException {
    return attempt(claim, Server.deadlineAfter(storeTimeout));
  }

  private Attempted attempt(Claim claim, Deadline deadline) throws StoreException {
    for (int splits = 0; ; splits++) {
      String ownerId = ownerIdOfRound(claim);
      Votes<Object> votes =
          Votes.gatherInTime(askForLock(claim, ownerId), deadline, QuorumStore::isAcquireDecided);
      if (votes.isMajority(QuorumStore::isGrant)) {
        QuorumGrant grant = new QuorumGrant(claim, ownerId, highest(votes));
        Votes<Boolean> settled = settle(grant, deadline);
        if (settled.isMajority(Boolean::booleanValue)) {
          return new Attempted.Taken(grant);
        }
        giveBack(claim, ownerId);
        // If a server of the majority failed meanwhile, those that are left may be one, too.
        boolean mayTryAgain =
            settled.answers().size() >= settled.majority() && mayAskAgain(splits, deadline);
        if (!settled.isMajority(QuorumStore::isNo) && !mayTryAgain) {
          throw settled.failure("The lock was given, but its number could not be kept");
        }
      } else {
        giveBack(claim, ownerId);
        if (votes.answers().size() < votes.majority()) {
          throw votes.failure("Too few servers to lock");
        }
      }
      String holder = holder(votes);
      if (holder != null) {
        return new Attempted.Busy(holder);
      } else if (!mayAskAgain(splits, deadline)) {
        return new Attempted.Split();
      }
      // Several ask, and each has got too few servers.
      LockSupport.parkNanos(
          this, ThreadLocalRandom.current().nextLong(SPLIT_PAUSE_NANOS << splits));
    }
  }

  private static boolean mayAskAgain(int splits, Deadline deadline) {
    return splits < SPLITS_MAX && !deadline.isOver();
  }

  private static long highest(Votes<Object> votes) {
    return votes.answers().stream()
        .map(Votes.Answer::value)
        .filter(QuorumStore::isGrant)
        .mapToLong(value -> (Long) value)
        .max()
        .orElseThrow();
  }

  /** The same for no two rounds, and rising. */
  private String ownerIdOfRound(Claim claim) {
    return roundsOf(claim) + HexFormat.of().toHexDigits(rounds.incrementAndGet());
  }

  /** What the ids of an attempt's rounds begin with. */
  private static String roundsOf(Claim claim) {
    return claim.ownerId().substring(0, ROUNDS_HAVE_IN_COMMON);
  }

  private List<CompletableFuture<Object>> askForLock(Claim claim, String ownerId) {
    Call call = RedisStore.acquireCall(key(claim.key()), ownerId, claim, numbersKept);
    return each(voter -> voter.ask(claim, server -> {
      Object reply = run(server, call, WithoutPool.FAIL);
      if (reply != null
          && (isGrant(reply) || (reply instanceof List<?> busy && busy.size() >= 2))) {
        return reply;
      }
      throw StoreException.unanswered("Redis answered what is no answer: " + reply, null);
    }));
  }

  private static boolean isAcquireDecided(Votes<Object> votes) {
    return votes.isMajority(QuorumStore::isGrant) || votes.isFailed() || holder(votes) != null;
  }

  private static boolean isGrant(@Nullable Object reply) {
    return reply instanceof Long;
  }

  /** Who has the lock on a majority; null: nobody, as far as the answers go. */
  private static @Nullable String holder(Votes<Object> votes) {
    for (Votes.Answer<Object> answer : votes.answers()) {
      if (answer.value() instanceof List<?> busy) {
        String holder = Reply.text(busy.get(1));
        if (votes.isMajority(
            value -> value instanceof List<?> other && Reply.text(other.get(1)).equals(holder))) {
          return holder;
        }
      }
    }
    return null;
  }

  private Votes<Boolean> settle(QuorumGrant grant, Deadline deadline) {
    Claim claim = grant.claim();
    Call call =
        new Call(Script.SETTLE, key(claim.key()), grant.ownerId(), Long.toString(grant.number()));
    return gather(
        each(voter ->
            voter.ask(claim, server -> Reply.isOne(run(server, call, WithoutPool.USE_OWN)))),
        deadline,
        QuorumStore::isDecided);
  }

  /** After whatever is under way, and without waiting for it. */
  private void giveBack(Claim claim, String ownerId) {
    List<CompletableFuture<Boolean>> unused = askToWithdraw(claim, ownerId);
  }

  private List<CompletableFuture<Boolean>> askToWithdraw(Claim claim, String ownerId) {
    Call call = new Call(Script.WITHDRAW, key(claim.key()), ownerId);
    return each(voter -> voter.ask(claim, server -> {
      Object unused = run(server, call, WithoutPool.USE_OWN);
      return true;
    }));
  }

  @Override
  public void withdraw(Claim claim) throws StoreException {
    Votes<Boolean> votes = gather(
        askToWithdraw(claim, roundsOf(claim)),
        Server.deadlineAfter(storeTimeout),
        QuorumStore::isDecided);
    if (!votes.isMajority(Boolean::booleanValue)) {
      throw votes.failure("The attempt could not be withdrawn");
    }
  }

  private static boolean isDecided(Votes<Boolean> votes) {
    return votes.isMajority(Boolean::booleanValue) || votes.isMajority(QuorumStore::isNo);
  }

  private static boolean isNo(Boolean answer) {
    return !answer;
  }

  @Override
  public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
    Claim claim = grant.claim();
    Call call = RedisStore.releaseCall(key(claim.key()), ownerIdOf(grant), holdFor);
    Votes<Boolean> votes = gather(
        each(voter -> voter.ask(claim, server -> {
          Server.Answer answer = server.run(call, WithoutPool.USE_OWN);
          // Of two requests the first may have got through, and then the second finds nothing.
          return Reply.isOne(answer.reply()) || answer.repeated();
        })),
        Server.deadlineAfter(storeTimeout),
        QuorumStore::isDecided);
    if (votes.isMajority(Boolean::booleanValue)) {
      return ReleaseOutcome.RELEASED;
    } else if (votes.isMajority(QuorumStore::isNo)) {
      return ReleaseOutcome.ALREADY_LOST;
    }
    throw votes.failure("It is not known whether the lock was released");
  }

  @Override
  public Object renewalGroup(Grant grant) {
    return this;
  }

  @Override
  public List<Renewal> renew(List<Grant> grants) throws StoreException {
    Deadline deadline = Server.deadlineAfter(storeTimeout);
    List<Renewal> results = new ArrayList<>(grants.size());
    for (int from = 0; from < grants.size(); from += RENEWED_AT_ONCE_MAX) {
      results.addAll(renewPart(
          grants.subList(from, Math.min(grants.size(), from + RENEWED_AT_ONCE_MAX)), deadline));
    }
    return results;
  }

  private List<Renewal> renewPart(List<Grant> grants, Deadline deadline) {
    List<Call> calls = new ArrayList<>(grants.size());
    for (Grant grant : grants) {
      Claim claim = grant.claim();
      calls.add(RedisStore.renewCall(key(claim.key()), ownerIdOf(grant), claim.ttl()));
    }
    Votes<List<Object>> votes = gather(
        each(voter -> voter.askToRenew(server -> server.runAllOnGrants(calls))),
        deadline,
        soFar -> {
          for (int i = 0; i < grants.size(); i++) {
            if (renewal(soFar, i, grants.get(i)) instanceof Renewal.Unknown) {
              return false;
            }
          }
          return true;
        });
    List<Renewal> results = new ArrayList<>(grants.size());
    for (int i = 0; i < grants.size(); i++) {
      results.add(renewal(votes, i, grants.get(i)));
    }
    return results;
  }

  private static Renewal renewal(Votes<List<Object>> votes, int index, Grant grant) {
    if (votes.isMajority(replies -> Reply.isOne(replies.get(index)))) {
      return new Renewal.Renewed(QuorumGrant.lessDrift(grant.claim().ttl()));
    } else if (votes.isMajority(replies -> Reply.isZero(replies.get(index)))) {
      return new Renewal.Lost();
    }
    for (Votes.Answer<List<Object>> answer : votes.answers()) {
      if (answer.value().get(index) instanceof StoreException e) {
        return new Renewal.Unknown(e);
      }
    }
    return new Renewal.Unknown(votes.failure("Too few servers to renew the lease"));
  }

  @Override
  public Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException {
    Claim claim = grant.claim();
    Call call = RedisStore.extendCall(key(claim.key()), ownerIdOf(grant), ttl);
    Votes<Optional<Duration>> votes = gather(
        each(voter ->
            voter.ask(claim, server -> Reply.left(run(server, call, WithoutPool.USE_OWN)))),
        Server.deadlineAfter(storeTimeout),
        soFar -> soFar.isMajority(Optional::isPresent) || soFar.isMajority(Optional::isEmpty));
    if (votes.isMajority(Optional::isPresent)) {
      return Optional.of(QuorumGrant.lessDrift(votes.lasting(left -> left.orElse(Duration.ZERO))));
    } else if (votes.isMajority(Optional::isEmpty)) {
      return Optional.empty();
    }
    throw votes.failure("It is not known whether the lease stands");
  }

  /** What each server shows of a lock; empty: nothing. */
  private List<CompletableFuture<Optional<Reply.Held>>> look(LockKey key) {
    Call call = RedisStore.lookCall(key(key));
    return each(voter -> voter.ask(
        server -> Optional.ofNullable(Reply.Held.of(run(server, call, WithoutPool.FAIL)))));
  }

  /** By the script that extends, for no time: only servers that take writes answer that. */
  @Override
  public Optional<Duration> verify(Grant grant) throws StoreException {
    return extend(grant, Duration.ZERO);
  }

  @Override
  public Optional<StoredHolder> inspect(LockKey key) throws StoreException {
    Deadline deadline = Server.deadlineAfter(storeTimeout);
    while (true) {
      Votes<Optional<Reply.Held>> votes =
          Votes.gatherInTime(look(key), deadline, soFar -> soFar.isMajority(Optional::isEmpty));
      if (votes.answers().size() < votes.majority()) {
        throw votes.failure("It is not known who has the lock");
      }
      Shown shown = Shown.by(votes);
      if (shown instanceof Shown.Taken taken) {
        return Optional.of(taken.holder());
      } else if (shown instanceof Shown.Free) {
        return Optional.empty();
      } else if (deadline.isOver()) {
        throw votes.failure("It is not known whether the lock is taken");
      }
      LockSupport.parkNanos(this, LOOK_AGAIN_NANOS);
    }
  }

  @Override
  public List<StoredLock> list(LockKind kind, String namePrefix, int limit) throws StoreException {
    return new QuorumList(
            voters, new NameRange(prefix, kind, namePrefix), Server.deadlineAfter(storeTimeout))
        .read(limit);
  }

  @Override
  public boolean forceRelease(LockKey key, long number) throws StoreException {
    Call call = new Call(Script.FORCE_RELEASE, key(key), Long.toString(number));
    Votes<Boolean> votes = gather(
        each(voter -> voter.ask(server -> {
          Server.Answer answer = server.run(call, WithoutPool.USE_OWN);
          boolean freed = Reply.isOne(answer.reply());
          if (!freed && answer.repeated()) {
            throw StoreException.unanswered("The connection broke: it may have been freed", null);
          }
          return freed;
        })),
        Server.deadlineAfter(storeTimeout),
        QuorumStore::isDecided);
    if (votes.isMajority(Boolean::booleanValue)) {
      return true;
    } else if (votes.isMajority(QuorumStore::isNo)) {
      return false;
    }
    throw votes.failure("It is not known whether the lock was freed");
  }

  private static @Nullable Object run(Server server, Call call, WithoutPool withoutPool)
      throws StoreException {
    return server.run(call, withoutPool).reply();
  }

  private interface Asking<T> {
    CompletableFuture<T> of(Voter voter);
  }

  private <T> List<CompletableFuture<T>> each(Asking<T> asking) {
    return voters.stream().map(asking::of).toList();
  }

  private static <T> Votes<T> gather(
      List<CompletableFuture<T>> questions, Deadline deadline, Predicate<Votes<T>> decided) {
    return Votes.gather(questions, deadline, decided);
  }

  private static String ownerIdOf(Grant grant) {
    return ((QuorumGrant) grant).ownerId();
  }

  private String key(LockKey key) {
    return Keys.of(prefix, key);
  }

  @Override
  public void close() {
    Deadline deadline = Server.deadlineAfter(storeTimeout);
    voters.forEach(voter -> voter.close(deadline));
  }
}
