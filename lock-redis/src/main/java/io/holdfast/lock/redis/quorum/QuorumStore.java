package io.holdfast.lock.redis.quorum;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.redis.quorum.Voter.Lane;
import io.holdfast.lock.redis.server.Call;
import io.holdfast.lock.redis.server.Daemons;
import io.holdfast.lock.redis.server.LockList;
import io.holdfast.lock.redis.server.Reply;
import io.holdfast.lock.redis.server.Reply.Acquired;
import io.holdfast.lock.redis.server.Server;
import io.holdfast.lock.redis.server.Server.Mode;
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
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.util.Pool;

/**
 * The lock protocol on several independent servers: an attempt holds the lock if a majority of them
 * have granted it the lock's key. All servers are asked at once, and a majority's answers decide;
 * the others are not waited for.
 *
 * <p>Numbers: with the key, each server returns a number that is higher than the last one it knows.
 * The highest of these becomes the number of the lock's grant. Before the grant is returned, its
 * number is written to a majority, on which the attempt must still have the key. The majority that
 * grants the lock next has a server in common with it. That server gives away the key after the
 * number was written there, so the next grant's number is higher.
 *
 * <p>Owner ids: an attempt asks in rounds, and after each round without a majority it gives back
 * the keys that it got. Every round has an id of its own; otherwise a late request to give back one
 * round's keys would also free the next round's. A later round takes over keys that an earlier one
 * still has. An attempt that is given up withdraws all keys whose ids begin with the prefix that
 * its rounds share.
 */
public final class QuorumStore implements LockStore {
  /**
   * The most further rounds of one poll of a waiter. In all calls, the longest pause before a
   * further round doubles this often.
   */
  private static final int FURTHER_ROUNDS_MAX = 6;

  /**
   * A further round needs at least the store timeout divided by this. A round that begins just
   * before the deadline would end without answers, and be reported as a failure of the servers.
   */
  private static final int ROUND_DIVISOR = 4;

  private static final long SPLIT_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(4);
  private static final String UNKNOWN_HOLDER = "several that ask at the same time";

  /**
   * The length of the prefix that the owner ids of an attempt's rounds share; acquire.lua relies on
   * it.
   */
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
      String threadName = "holdfast-" + settings.clientName() + "-server-" + i;
      Server server = new Server(key -> pool, storeTimeout, threadName);
      voters.add(new Voter(
          server,
          storeTimeout,
          lane -> Daemons.pool(
              threadName + '-' + lane.name().toLowerCase(Locale.ROOT), lane.threads(pool))));
    }
  }

  /**
   * Opens the store for one client.
   *
   * @param numbersKept the time for which a number is kept after its grant
   * @throws IllegalStateException a server is too old, or two clients lead to the same server
   */
  public static QuorumStore open(
      List<Pool<Connection>> pools, String prefix, Duration numbersKept, StoreSettings settings)
      throws StoreException {
    QuorumStore store = new QuorumStore(pools, prefix, numbersKept, settings);
    try {
      QuorumCheck.run(store.voters, prefix, Server.deadlineAfter(store.storeTimeout));
      return store;
    } catch (StoreException | RuntimeException | Error e) {
      store.close();
      throw e;
    }
  }

  /** The result of the rounds of one call. */
  sealed interface Asked {
    /** The claim has the lock. */
    record Granted(QuorumGrant grant) implements Asked {}

    /**
     * Another owner has the lock; or competing attempts have split the servers, up to the last
     * round. A waiter is told this, and polls again, also if a server that did not answer could
     * have decided.
     */
    record Busy(String holder) implements Asked {}
  }

  /**
   * Checks that a lease lasts longer than the call that asks for it, by the servers' clocks too.
   */
  @Override
  public void checkOptions(LockOptions options) {
    if (QuorumGrant.lessDrift(options.ttl()).compareTo(storeTimeout) <= 0) {
      throw new IllegalArgumentException(
          ("A TTL of %s is too short for a quorum with a store timeout of %s, since of each TTL 1 %%"
                  + " and 2 ms are left for the servers' clocks: take a TTL of at least %s, or build"
                  + " the client with a shorter storeTimeout")
              .formatted(options.ttl(), storeTimeout, QuorumGrant.withDrift(storeTimeout)));
    }
  }

  /**
   * {@inheritDoc}
   *
   * <p>An empty result is final for the caller. So while there is time, this asks again if
   * competing attempts have split the servers, or if a release has not reached all of them yet.
   *
   * @throws StoreException too few servers answered, or one that did not could have decided
   */
  @Override
  public Optional<Grant> tryAcquire(Claim claim) throws StoreException {
    return askInRounds(claim, false) instanceof Asked.Granted granted
        ? Optional.of(granted.grant())
        : Optional.empty();
  }

  @Override
  public Acquisition acquireOrQueue(Claim claim, Runnable wakeUp) throws StoreException {
    return new QuorumTicket(this, claim).join();
  }

  /**
   * Asks all servers for the lock, and gives back what it got if that is no majority.
   *
   * @param waits whether this is one poll of a waiter, who will soon poll again
   */
  Asked askInRounds(Claim claim, boolean waits) throws StoreException {
    Deadline deadline = Server.deadlineAfter(storeTimeout);
    for (int before = 0; ; before++) {
      String ownerId = nextOwnerId(claim);
      List<CompletableFuture<Acquired>> asked = askForLock(claim, ownerId);
      // 0 repeats, so that this wait does not grow from round to round: while an attempt waits, no
      // other can get the keys that it has.
      Votes<Acquired> votes = Votes.gatherInTime(asked, deadline, QuorumStore::isAcquireDecided, 0);
      Votes<Boolean> committed = null;
      if (votes.isMajority(Acquired.Granted.class::isInstance)) {
        QuorumGrant grant = new QuorumGrant(claim, ownerId, highest(votes));
        committed = commitNumber(grant, deadline);
        if (committed.isMajority(Boolean::booleanValue)) {
          return new Asked.Granted(grant);
        }
      }
      giveBack(claim, ownerId, asked);
      boolean isLast = (waits && before >= FURTHER_ROUNDS_MAX) || !isTimeForARound(deadline);
      Asked.Busy busy = conclude(votes, committed, isLast, waits);
      if (busy != null) {
        return busy;
      }
      // Several attempts compete, and each got too few servers; or one failed after its grant.
      long pauseNanosMax = SPLIT_PAUSE_NANOS << Math.min(before, FURTHER_ROUNDS_MAX);
      Server.pause(Duration.ofNanos(ThreadLocalRandom.current().nextLong(pauseNanosMax)), deadline);
    }
  }

  /**
   * Concludes from a round that did not get the lock. Whether it is the last one is asked once, by
   * the caller: time passes, and the failure of the last round must not be told as busy.
   *
   * @param committed the answers about the number, if a majority gave the lock
   * @param waits as in {@link #askInRounds}
   * @return the result of the call; null if another round is to be made
   * @throws StoreException servers failed, and no other round or poll could do without them
   */
  static Asked.@Nullable Busy conclude(
      Votes<Acquired> votes, @Nullable Votes<Boolean> committed, boolean isLast, boolean waits)
      throws StoreException {
    // A server that has not answered a waiter's earlier round is not asked again (Voter).
    if (!votes.isAnswered() && (isLast || !waits)) {
      throw votes.failure("Too few servers to lock");
    }
    // Undecided. Not thrown while a majority answers and there is time: the others may form one.
    if (committed != null
        && !committed.isDecided(Boolean::booleanValue)
        && (isLast || !committed.isAnswered())) {
      throw committed.failure("The lock was given, but its number could not be kept");
    }
    String holder = holder(votes);
    if (holder != null) {
      return new Asked.Busy(holder);
    }
    if (isLast
        && committed == null
        && !waits
        && !votes.isExcluded(Acquired.Granted.class::isInstance)) {
      throw votes.failure("It is not known whether the lock is taken");
    }
    return isLast ? new Asked.Busy(UNKNOWN_HOLDER) : null;
  }

  private boolean isTimeForARound(Deadline deadline) {
    return deadline.leftNanos() >= storeTimeout.toNanos() / ROUND_DIVISOR;
  }

  private static long highest(Votes<Acquired> votes) {
    return votes.answers.stream()
        .mapToLong(answer -> answer instanceof Acquired.Granted granted ? granted.number() : 0)
        .max()
        .orElseThrow();
  }

  /** Returns the owner id of a new round: different for each, and rising. */
  private String nextOwnerId(Claim claim) {
    return roundsOf(claim) + HexFormat.of().toHexDigits(rounds.incrementAndGet());
  }

  /** Returns the prefix that the ids of an attempt's rounds share. */
  private static String roundsOf(Claim claim) {
    return claim.ownerId().substring(0, ROUNDS_HAVE_IN_COMMON);
  }

  private List<CompletableFuture<Acquired>> askForLock(Claim claim, String ownerId) {
    Call call = Call.acquire(prefix, ownerId, claim, numbersKept, "");
    Voter.Question<Acquired> question = server -> Acquired.of(server.run(call, Mode.ASK), claim);
    return voters.stream().map(voter -> voter.askForLock(claim, question)).toList();
  }

  private static boolean isAcquireDecided(Votes<Acquired> votes) {
    return votes.isMajority(Acquired.Granted.class::isInstance)
        || votes.isFailed()
        || holder(votes) != null;
  }

  /**
   * Returns the holder that a majority shows, or null if the answers show none. Compares
   * descriptions: two attempts of one thread count as one holder.
   */
  private static @Nullable String holder(Votes<Acquired> votes) {
    for (Acquired answer : votes.answers) {
      if (answer instanceof Acquired.Busy busy
          && votes.isMajority(other ->
              other instanceof Acquired.Busy same && same.holder().equals(busy.holder()))) {
        return busy.holder();
      }
    }
    return null;
  }

  private Votes<Boolean> commitNumber(QuorumGrant grant, Deadline deadline) {
    Claim claim = grant.claim();
    Call call = Call.commitNumber(prefix, claim.key(), grant.ownerId(), grant.number());
    return Votes.gather(
        ask(Lane.ACQUIRE, claim, server -> server.run(call, Mode.URGENT).isDone()),
        deadline,
        soFar -> soFar.isDecided(Boolean::booleanValue));
  }

  /**
   * Gives back a round's keys, in order after its other requests; does not wait for the answers.
   *
   * @param asked the round's questions, one for each server
   */
  private void giveBack(Claim claim, String ownerId, List<CompletableFuture<Acquired>> asked) {
    Call call = Call.withdraw(prefix, claim.key(), ownerId);
    for (int i = 0; i < asked.size(); i++) {
      CompletableFuture<Acquired> question = asked.get(i);
      // The answer is looked at again in turn, since it may have come meanwhile.
      Voter.Question<Boolean> withdrawal =
          server -> mayHaveGiven(question) && server.run(call, Mode.URGENT).isDone();
      if (mayHaveGiven(question)) {
        var unused = voters.get(i).ask(Lane.ACQUIRE, claim, withdrawal);
      }
    }
  }

  /** Whether a server may have given a round its key, or may yet. */
  private static boolean mayHaveGiven(CompletableFuture<Acquired> asked) {
    try {
      return !(asked.isDone() && asked.join() instanceof Acquired.Busy busy) || busy.repeated();
    } catch (CompletionException e) {
      return !(e.getCause() instanceof StoreException failure) || failure.mayHaveHappened();
    }
  }

  @Override
  public void withdraw(Claim claim) throws StoreException {
    Call call = Call.withdraw(prefix, claim.key(), roundsOf(claim));
    // Any reply will do: one server may have had something, and another not.
    Votes<Boolean> unused = decide(
        ask(Lane.GRANT, claim, server -> server.run(call, Mode.URGENT).reply() != null),
        Boolean::booleanValue,
        "The attempt could not be withdrawn");
  }

  /**
   * Returns answers that decide: a majority gave such an answer, or a majority gave any other.
   *
   * @throws StoreException there is no such majority within the store timeout
   */
  private <T> Votes<T> decide(
      List<CompletableFuture<T>> questions, Predicate<T> of, String undecided)
      throws StoreException {
    Votes<T> votes =
        Votes.gather(questions, Server.deadlineAfter(storeTimeout), soFar -> soFar.isDecided(of));
    if (!votes.isDecided(of)) {
      throw votes.failure(undecided);
    }
    return votes;
  }

  @Override
  public ReleaseOutcome release(Grant grant, Duration holdFor) throws StoreException {
    Claim claim = grant.claim();
    Call call = Call.release(prefix, claim.key(), ownerIdOf(grant), holdFor);
    Votes<ReleaseOutcome> votes = decide(
        ask(Lane.GRANT, claim, server -> server.run(call, Mode.URGENT).released()),
        ReleaseOutcome.ALREADY_LOST::equals,
        "It is not known whether the lock was released");
    return Stream.of(ReleaseOutcome.RELEASED, ReleaseOutcome.ALREADY_LOST)
        .filter(outcome -> votes.isMajority(outcome::equals))
        .findFirst()
        .orElse(ReleaseOutcome.RELEASED_OR_LOST);
  }

  @Override
  public Object renewalGroup(Grant grant) {
    return this;
  }

  @Override
  public List<Renewal> renew(List<Grant> grants) {
    Deadline deadline = Server.deadlineAfter(storeTimeout);
    List<Supplier<Stream<Renewal>>> parts = new ArrayList<>();
    // Part by part, so that servers that are too slow for all have a vote on the first ones. All
    // are asked before the first is gathered: one grant that is undecided can take all the time.
    for (int from = 0; from < grants.size(); from += Server.RENEWED_AT_ONCE_MAX) {
      int to = Math.min(grants.size(), from + Server.RENEWED_AT_ONCE_MAX);
      parts.add(askToRenew(grants.subList(from, to), deadline));
    }
    return parts.stream().flatMap(Supplier::get).toList();
  }

  /** Asks for the renewal of some grants; the result gathers the answers. */
  private Supplier<Stream<Renewal>> askToRenew(List<Grant> grants, Deadline deadline) {
    List<Call> calls = grants.stream()
        .map(grant -> Call.renew(prefix, grant.claim(), ownerIdOf(grant)))
        .toList();
    List<CompletableFuture<List<Object>>> asked = ask(Lane.RENEWAL, server -> server.renew(calls));
    Predicate<Votes<List<Object>>> decided =
        soFar -> renewals(soFar, grants).noneMatch(Renewal.Unknown.class::isInstance);
    return () -> renewals(Votes.gather(asked, deadline, decided), grants);
  }

  private static Stream<Renewal> renewals(Votes<List<Object>> votes, List<Grant> grants) {
    return IntStream.range(0, grants.size()).mapToObj(i -> renewal(votes, i, grants.get(i)));
  }

  private static Renewal renewal(Votes<List<Object>> votes, int index, Grant grant) {
    if (votes.isMajority(replies -> Reply.isOne(replies.get(index)))) {
      return new Renewal.Renewed(QuorumGrant.lessDrift(grant.claim().ttl()));
    } else if (votes.isMajority(replies -> Reply.isZero(replies.get(index)))) {
      return new Renewal.Lost();
    }
    for (List<Object> replies : votes.answers) {
      if (replies.get(index) instanceof StoreException e) {
        return new Renewal.Unknown(e);
      }
    }
    return new Renewal.Unknown(votes.failure("Too few servers to renew the lease"));
  }

  @Override
  public Optional<Duration> extend(Grant grant, Duration ttl) throws StoreException {
    Claim claim = grant.claim();
    Call call = Call.extend(prefix, claim, ownerIdOf(grant), ttl);
    Votes<Optional<Duration>> votes = decide(
        ask(Lane.GRANT, claim, server -> server.run(call, Mode.URGENT).left()),
        Optional::isPresent,
        "It is not known whether the lease stands");
    return votes.isMajority(Optional::isPresent)
        ? Optional.of(QuorumGrant.lessDrift(votes.lasting(left -> left.orElse(Duration.ZERO))))
        : Optional.empty();
  }

  /** Runs the script that extends, with zero time: only servers that take writes answer it. */
  @Override
  public Optional<Duration> verify(Grant grant) throws StoreException {
    return extend(grant, Duration.ZERO);
  }

  @Override
  public Optional<StoredHolder> inspect(LockKey key) throws StoreException {
    Call call = Call.look(prefix, key);
    Deadline deadline = Server.deadlineAfter(storeTimeout);
    for (int repeats = 0; ; repeats++) {
      Votes<Optional<Reply.Held>> votes = Votes.gatherInTime(
          ask(Lane.ACQUIRE, server -> Reply.Held.any(server.run(call, Mode.ASK).reply())),
          deadline,
          soFar -> soFar.isMajority(Optional::isEmpty),
          repeats);
      if (!votes.isAnswered()) {
        throw votes.failure("It is not known who has the lock");
      }
      Shown shown = Shown.by(votes);
      if (shown instanceof Shown.Taken taken) {
        return Optional.of(taken.holder());
      } else if (shown instanceof Shown.Free) {
        return Optional.empty();
      } else if (!isTimeForARound(deadline)) {
        throw votes.failure("It is not known whether the lock is taken");
      }
      Server.pause(QuorumList.LOOK_AGAIN_AFTER, deadline);
    }
  }

  @Override
  public List<StoredLock> list(LockKind kind, String namePrefix, int limit) throws StoreException {
    Deadline deadline = Server.deadlineAfter(storeTimeout);
    Function<Server, LockList> listOf =
        server -> new LockList(server, prefix, kind, namePrefix, deadline);
    return new QuorumList(voters, listOf, deadline).read(limit);
  }

  @Override
  public boolean forceRelease(LockKey key, long number) throws StoreException {
    Call call = Call.forceRelease(prefix, key, number);
    return decide(
            ask(Lane.GRANT, server -> server.run(call, Mode.URGENT).forceReleased()),
            Boolean::booleanValue,
            "It is not known whether the lock was freed")
        .isMajority(Boolean::booleanValue);
  }

  private <T> List<CompletableFuture<T>> ask(Lane lane, Voter.Question<T> question) {
    return voters.stream().map(voter -> voter.ask(lane, question)).toList();
  }

  /** Asks each server after all earlier questions about that attempt. */
  private <T> List<CompletableFuture<T>> ask(Lane lane, Claim attempt, Voter.Question<T> question) {
    return voters.stream().map(voter -> voter.ask(lane, attempt, question)).toList();
  }

  private static String ownerIdOf(Grant grant) {
    return ((QuorumGrant) grant).ownerId();
  }

  @Override
  public void close() {
    Deadline deadline = Server.deadlineAfter(storeTimeout);
    voters.forEach(voter -> voter.close(deadline));
  }
}
