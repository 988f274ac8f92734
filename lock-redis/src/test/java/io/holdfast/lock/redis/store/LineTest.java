package io.holdfast.lock.redis.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.redis.RedisLocks;
import io.holdfast.lock.redis.Stored;
import io.holdfast.lock.redis.Stores;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import io.holdfast.lock.testsupport.Image;
import io.holdfast.lock.testsupport.ServerContainer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisClient;

/** The line of waiters: its order, the messages to them, and its cost. */
class LineTest {
  /** The commands of two scripts, which are commands themselves. */
  private static final int COMMANDS_PER_CYCLE = 9;

  private static final Duration TURN_LASTS =
      RedisStore.turnLasts(Stores.STORE_TIMEOUT, Inbox.RECHECK_AFTER_MIN);

  private RedisClient redis;
  private LockStore first;
  private LockStore second;
  private LockStore third;

  @BeforeEach
  void open() throws Exception {
    redis = Stores.client();
    first = Stores.open(redis);
    second = Stores.open(redis);
    third = Stores.open(redis);
  }

  @AfterEach
  void close() {
    first.close();
    second.close();
    third.close();
    redis.close();
  }

  @Test
  void twoScriptsTakeAndFreeAndNobodyIsToldWhoDoesNotWait() throws Exception {
    // A server of its own: the others' clients may still be tidying up.
    try (ServerContainer server = ServerContainer.start(Image.REDIS);
        RedisClient alone = Stores.client(Stores.address(server), 2);
        LockClient locks = RedisLocks.builder(alone).build()) {
      DistributedLock lock = locks.get(Claims.freshKey().name());
      lock.lock().close();
      long scripts = Stores.calls(alone, "evalsha");
      long texts = Stores.calls(alone, "eval");
      long messages = Stores.calls(alone, "publish");
      long commands = Stores.calls(alone);
      for (int i = 0; i < 20; i++) {
        try (Lease outer = lock.lock();
            Lease inner = lock.lock()) {
          assertThat(inner.token()).isEqualTo(outer.token());
        }
      }
      // The last question is among them.
      assertThat(Stores.calls(alone) - commands).isEqualTo(20 * COMMANDS_PER_CYCLE + 1);
      assertThat(Stores.calls(alone, "evalsha") - scripts).isEqualTo(40);
      assertThat(Stores.calls(alone, "eval")).isEqualTo(texts);
      assertThat(Stores.calls(alone, "publish")).isEqualTo(messages);
    }
  }

  @Test
  void theLockIsHandedOverInTheOrderOfJoiningAndOnlyTheNextIsTold() throws Exception {
    LockKey key = Claims.freshKey();
    Grant held = first.tryAcquire(Claims.claim(key)).orElseThrow();
    Stores.Waiter one = Stores.Waiter.join(second, key);
    Stores.Waiter two = Stores.Waiter.join(third, key);
    // Who begins to hear polls once by itself.
    one.awaitHearing();
    two.awaitHearing();
    assertThat(one.ticket().poll()).isInstanceOf(Ticket.Waiting.class);
    assertThat(two.ticket().poll()).isInstanceOf(Ticket.Waiting.class);

    assertThat(first.release(held, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    one.awaitCall();
    Grant next = ((Ticket.Granted) one.ticket().poll()).grant();
    assertThat(two.ticket().poll()).isInstanceOf(Ticket.Waiting.class);
    assertThat(next.number()).isGreaterThan(held.number());
    assertThat(two.woken().availablePermits()).isZero();

    assertThat(second.release(next, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    two.awaitCall();
    Grant last = ((Ticket.Granted) two.ticket().poll()).grant();
    assertThat(last.number()).isGreaterThan(next.number());
    assertThat(third.release(last, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(redis.keys("*{" + key.name() + "}*")).containsOnly(Stored.keyOf(key));
    assertThat(Stored.isTaken(redis, Stored.keyOf(key))).isFalse();
  }

  @Test
  void aPlaceOfALaterVersionIsLeftAloneAndWhoStandsBehindItWaits() throws Exception {
    LockKey key = Claims.freshKey();
    String place = "r" + "a".repeat(32) + "|of a later version";
    Grant held = first.tryAcquire(Claims.claim(key)).orElseThrow();
    redis.rpush(Stored.keyOf(key), place);
    Stores.Waiter waiter = Stores.Waiter.join(second, key);
    waiter.awaitHearing();
    assertThat(first.list(LockKind.MUTEX, key.name(), 1))
        .singleElement()
        .satisfies(lock -> assertThat(lock.waiting()).hasValue(2));

    assertThat(first.release(held, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(third.tryAcquire(Claims.claim(key))).isEmpty();
    Ticket.Status poll = waiter.ticket().poll();
    assertThat(((Ticket.Waiting) poll).recheckAfter()).isPositive();
    assertThat(redis.lrange(Stored.keyOf(key), 1, 1)).containsExactly(place);

    redis.lrem(Stored.keyOf(key), 1, place); // It is done.
    assertThat(waiter.ticket().poll()).isInstanceOf(Ticket.Granted.class);
  }

  @Test
  void aGrantOfALaterVersionIsTakenForAsLongAsTheKeyLives() throws Exception {
    LockKey key = Claims.freshKey();
    redis.rpush(Stored.keyOf(key), "several|of a later version");
    redis.pexpire(Stored.keyOf(key), 60_000);
    assertThat(first.tryAcquire(Claims.claim(key))).isEmpty();
    Stores.Waiter waiter = Stores.Waiter.join(second, key);
    assertThat(waiter.ticket().poll()).isInstanceOf(Ticket.Waiting.class);
    assertThat(first.inspect(key).orElseThrow().description()).contains("several");
    redis.persist(Stored.keyOf(key)); // Whoever waits must not poll without a pause.
    assertThat(((Ticket.Waiting) waiter.ticket().poll()).recheckAfter())
        .isGreaterThanOrEqualTo(Inbox.RECHECK_AFTER_MIN);
    assertThat(Stored.grant(redis, Stored.keyOf(key))).isEqualTo("several|of a later version");
  }

  @Tag("each-jedis")
  @Test
  void aHandOverThatIsHeardIsAGrantWithoutAPoll() throws Exception {
    LockKey key = Claims.freshKey();
    Grant held = first.tryAcquire(Claims.claim(key)).orElseThrow();
    Stores.Waiter waiter = Stores.Waiter.join(second, key);
    waiter.awaitHearing();
    assertThat(waiter.ticket().handedOver()).isEmpty();
    assertThat(first.release(held, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    waiter.awaitCall();

    Grant next = waiter.ticket().handedOver().orElseThrow();
    assertThat(next.claim()).isEqualTo(waiter.claim());
    assertThat(next.number())
        .isGreaterThan(held.number())
        .isEqualTo(first.inspect(key).orElseThrow().number());
    assertThat(next.validFor()).isEqualTo(TURN_LASTS);
    assertThat(second.renew(List.of(next))).containsExactly(new Renewal.Renewed(Claims.TTL));
    assertThat(first.inspect(key).orElseThrow().remaining()).isGreaterThan(TURN_LASTS);
    assertThat(second.release(next, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
  }

  /** The two may have reached two servers: the one before, and the one that is the primary now. */
  @Test
  void aHandOverProvesNothingIfTheLastPollHadToBeSentTwice() throws Exception {
    LockKey key = Claims.freshKey();
    HostAndPort server = Stores.sharedServer();
    try (FaultProxy way = FaultProxy.open(server.getHost(), server.getPort());
        RedisClient through = Stores.client(new HostAndPort(way.host(), way.port()), 4);
        LockStore store = Stores.open(through)) {
      Grant held = first.tryAcquire(Claims.claim(key)).orElseThrow();
      Stores.Waiter waiter = Stores.Waiter.join(store, key);
      waiter.awaitHearing();
      way.dropReply(1);
      assertThat(waiter.ticket().poll()).isInstanceOf(Ticket.Waiting.class);
      assertThat(first.release(held, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      waiter.awaitCall();

      assertThat(waiter.ticket().handedOver()).isEmpty();
      assertThat(waiter.ticket().poll()).isInstanceOf(Ticket.Granted.class);
    }
  }

  @Test
  void theNumberOutlivesAGrantThatIsConfirmedLate() throws Exception {
    LockKey key = Claims.freshKey();
    Grant held = first.tryAcquire(Claims.claim(key)).orElseThrow();
    Stores.Waiter waiter = Stores.Waiter.join(second, key);
    assertThat(first.release(held, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    Stores.Waiter next = Stores.Waiter.join(third, key);
    assertThat(waiter.ticket().poll()).isInstanceOf(Ticket.Granted.class);

    assertThat(redis.pttl(Stored.keyOf(key)))
        .isGreaterThan(TimeUnit.HOURS.toMillis(1) + Claims.TTL.toMillis() / 2);
    next.ticket().close();
  }

  @Test
  void aLockThatWasHandedOverIsHandedOnThoughNobodyPolledMeanwhile() throws Exception {
    LockKey key = Claims.freshKey();
    Grant held = first.tryAcquire(Claims.claim(key)).orElseThrow();
    Stores.Waiter one = Stores.Waiter.join(second, key);
    Stores.Waiter two = Stores.Waiter.join(third, key);
    one.awaitHearing();
    two.awaitHearing();
    assertThat(first.release(held, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    one.awaitCall();
    Grant next = one.ticket().handedOver().orElseThrow();
    assertThat(second.release(next, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);

    two.awaitCall();
    assertThat(two.ticket().handedOver().orElseThrow().number()).isGreaterThan(next.number());
  }

  @Test
  void aHandOverFromATurnThatLapsedIsNoGrant() throws Exception {
    LockKey key = Claims.freshKey();
    Grant held = first.tryAcquire(Claims.claim(key)).orElseThrow();
    Stores.Waiter late = Stores.Waiter.join(second, key);
    late.awaitHearing();
    assertThat(first.release(held, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    late.awaitCall();
    Stored.lapse(redis, Stored.keyOf(key));
    assertThat(third.tryAcquire(Claims.claim(key))).isPresent();

    // It has heard of its turn, and joins the line anew.
    assertThat(late.ticket().poll()).isInstanceOf(Ticket.Waiting.class);
    assertThat(late.ticket().handedOver()).isEmpty();
    late.ticket().close();
  }

  @Test
  void whoComesLaterDoesNotOvertakeWhoWaits() throws Exception {
    LockKey key = Claims.freshKey();
    assertThat(first.tryAcquire(Claims.claim(key))).isPresent();
    Stores.Waiter waiter = Stores.Waiter.join(second, key);
    Stored.lapse(redis, Stored.keyOf(key));
    assertThat(third.tryAcquire(Claims.claim(key))).isEmpty();
    assertThat(waiter.awaitGrant().claim()).isEqualTo(waiter.claim());
  }

  @Test
  void aLineThatIsEmptyAgainLeavesNothing() throws Exception {
    LockKey key = Claims.freshKey();
    Grant held = first.tryAcquire(Claims.claim(key)).orElseThrow();
    Stores.Waiter waiter = Stores.Waiter.join(second, key);
    assertThat(Stored.waiting(redis, Stored.keyOf(key))).isEqualTo(1);
    waiter.ticket().close();
    assertThat(first.release(held, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);

    Grant next = third.tryAcquire(Claims.claim(key)).orElseThrow();
    assertThat(next.number()).isGreaterThan(held.number());
    assertThat(Stored.waiting(redis, Stored.keyOf(key))).isZero();
    assertThat(Stored.number(redis, Stored.keyOf(key))).isEqualTo(next.number());
    assertThat(redis.pttl(Stored.keyOf(key))).isGreaterThan(TimeUnit.HOURS.toMillis(1));
  }

  @Test
  void aWaiterThatDiedIsPassedOver() throws Exception {
    LockKey key = Claims.freshKey();
    Grant held = first.tryAcquire(Claims.claim(key)).orElseThrow();
    Stores.Waiter dead = Stores.Waiter.join(second, key);
    Stores.Waiter alive = Stores.Waiter.join(third, key);
    assertThat(first.release(held, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    // It was given the lock, and does not claim it.
    assertThat(first.inspect(key).orElseThrow().remaining()).isLessThanOrEqualTo(TURN_LASTS);
    assertThat(alive.awaitGrant().number()).isGreaterThan(held.number());
    // If it wakes up after all, it stands in line again.
    assertThat(dead.ticket().poll()).isInstanceOf(Ticket.Waiting.class);
    dead.ticket().close();
  }

  @Test
  void whoIsGrantedLeavesTheLineThoughManyDeadStoodBefore() throws Exception {
    LockKey key = Claims.freshKey();
    String lock = Stored.keyOf(key);
    assertThat(first.tryAcquire(Claims.claim(key))).isPresent();
    for (int i = 0; i < 100; i++) {
      redis.rpush(lock, "%032x|1|3000|1|nobody|dead".formatted(i));
    }
    Stores.Waiter waiter = Stores.Waiter.join(second, key);
    Stored.lapse(redis, lock);
    Grant granted = ((Ticket.Granted) waiter.ticket().poll()).grant();
    assertThat(Stored.waiting(redis, lock)).isZero();
    assertThat(second.release(granted, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(first.inspect(key)).isEmpty();
  }

  @Test
  void whoLeftIsNotGrantedLaterAndPassesOnWhatItWasGiven() throws Exception {
    LockKey key = Claims.freshKey();
    Grant held = first.tryAcquire(Claims.claim(key)).orElseThrow();
    Stores.Waiter left = Stores.Waiter.join(second, key);
    left.ticket().close();
    Stores.Waiter given = Stores.Waiter.join(second, key);
    Stores.Waiter last = Stores.Waiter.join(third, key);
    assertThat(first.release(held, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    given.ticket().close();
    assertThat(last.ticket().poll()).isInstanceOf(Ticket.Granted.class);
  }

  @Test
  void aTicketThatWasGrantedClosesWithoutGivingBack() throws Exception {
    LockKey key = Claims.freshKey();
    Grant held = first.tryAcquire(Claims.claim(key)).orElseThrow();
    Stores.Waiter waiter = Stores.Waiter.join(second, key);
    assertThat(first.release(held, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    Grant granted = waiter.awaitGrant();
    waiter.ticket().close();
    assertThat(second.verify(granted)).isPresent();
  }

  @Test
  void aTicketMayBeClosedBeforeAndAfterItsClaimIsWithdrawnAndTwice() throws Exception {
    LockKey key = Claims.freshKey();
    Grant held = first.tryAcquire(Claims.claim(key)).orElseThrow();
    Stores.Waiter waiter = Stores.Waiter.join(second, key);
    Stores.Waiter other = Stores.Waiter.join(third, key);
    second.withdraw(waiter.claim());
    waiter.ticket().close();
    waiter.ticket().close();
    second.withdraw(waiter.claim());
    assertThat(Stored.waiting(redis, Stored.keyOf(key))).isEqualTo(1);
    assertThat(first.verify(held)).isPresent();
    other.ticket().close();
  }

  @Tag("each-jedis")
  @Test
  void aWaiterWhoseSubscriptionWasCutGetsItsTurnAllTheSame() throws Exception {
    try (LockClient holder = RedisLocks.builder(redis).build();
        LockClient waiter = RedisLocks.builder(redis).build()) {
      String name = Claims.freshKey().name();
      Lease lease = holder.get(name).lock();
      ExecutorService executor = Executors.newSingleThreadExecutor();
      try {
        Future<Boolean> waiting = executor.submit(() -> {
          waiter.get(name).lock().close();
          return true;
        });
        Await.until("waits", () -> Stored.waiting(redis, Stored.keyOf(name)) > 0);
        Stores.send(redis, Protocol.Command.CLIENT, "KILL", "TYPE", "pubsub");
        lease.close();
        assertThat(waiting.get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
      } finally {
        executor.shutdown();
      }
    }
  }

  @Test
  void aClientWithManyWaitersPollsSeldomForEachAndItsPlacesAndTurnsLastForLonger()
      throws Exception {
    int many = 200;
    List<Stores.Waiter> waiters = new ArrayList<>();
    for (int i = 0; i < many; i++) {
      LockKey key = Claims.freshKey();
      assertThat(first.tryAcquire(Claims.claim(key, Duration.ofMinutes(5)))).isPresent();
      waiters.add(Stores.Waiter.join(second, key));
    }
    Stores.Waiter waiter = waiters.get(0);
    waiter.awaitCall(); // Now it hears.

    Ticket.Waiting waiting = (Ticket.Waiting) waiter.ticket().poll();

    Duration atMostFiftyASecond = Duration.ofMillis(20L * many);
    assertThat(waiting.recheckAfter()).isEqualTo(atMostFiftyASecond);
    String place = redis.lindex(Stored.keyOf(waiter.claim().key().name()), 1);
    long aliveUntilMillis = Long.parseLong(place.split("\\|", 3)[1]);
    assertThat(aliveUntilMillis)
        .isGreaterThan(
            System.currentTimeMillis() + atMostFiftyASecond.plusSeconds(1).toMillis());
    for (Stores.Waiter each : waiters) {
      each.ticket().close();
    }
  }

  @Test
  void aWaiterPollsAtOnceWhenMessagesComeNoMore() throws Exception {
    HostAndPort server = Stores.sharedServer();
    LockKey key = Claims.freshKey();
    try (FaultProxy way = FaultProxy.open(server.getHost(), server.getPort());
        RedisClient through = Stores.client(new HostAndPort(way.host(), way.port()), 4);
        LockStore store = Stores.open(through)) {
      assertThat(first.tryAcquire(Claims.claim(key))).isPresent();
      Stores.Waiter waiter = Stores.Waiter.join(store, key);
      waiter.awaitHearing();
      way.refuse();
      waiter.awaitCall();
    }
  }

  @Test
  void aMinimumHoldThatShortensTheTimeLeftIsTold() throws Exception {
    LockKey key = Claims.freshKey();
    Grant held = first.tryAcquire(Claims.claim(key)).orElseThrow();
    Stores.Waiter waiter = Stores.Waiter.join(second, key);
    waiter.awaitHearing();
    Duration hold = Inbox.RECHECK_AFTER_MIN.minusMillis(200);
    long beganNanos = System.nanoTime();
    assertThat(first.release(held, hold)).isEqualTo(ReleaseOutcome.RELEASED);
    waiter.awaitCall();
    assertThat(waiter.ticket().handedOver()).isEmpty();
    Ticket.Status status = waiter.ticket().poll();
    if (status instanceof Ticket.Waiting waiting) {
      assertThat(waiting.recheckAfter()).isLessThan(Inbox.RECHECK_AFTER_MIN);
      assertThat(waiter.awaitGrant().number()).isGreaterThan(held.number());
    } else {
      // It polled only when the hold was over.
      assertThat(status).isInstanceOf(Ticket.Granted.class);
      assertThat(Duration.ofNanos(System.nanoTime() - beganNanos)).isGreaterThanOrEqualTo(hold);
    }
  }

  @Test
  void aReleaseWithAMinimumHoldThatIsSentAgainIsConfirmed() throws Exception {
    Grant held = first.tryAcquire(Claims.claim(Claims.freshKey())).orElseThrow();
    assertThat(first.release(held, Claims.TTL)).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(first.release(held, Claims.TTL)).isEqualTo(ReleaseOutcome.RELEASED);
  }

  @Test
  void anAttemptThatIsSentAgainHasOneGrantAndOnePlace() throws Exception {
    LockKey key = Claims.freshKey();
    Claim claim = Claims.claim(key);
    long number = first.tryAcquire(claim).orElseThrow().number();
    assertThat(first.tryAcquire(claim).orElseThrow().number()).isEqualTo(number);
    Stores.Waiter waiter = Stores.Waiter.join(second, key);
    assertThat(waiter.ticket().poll()).isInstanceOf(Ticket.Waiting.class);
    assertThat(Stored.waiting(redis, Stored.keyOf(key))).isEqualTo(1);
    waiter.ticket().close();
    assertThat(Stored.waiting(redis, Stored.keyOf(key))).isZero();
  }

  @Test
  void numbersRiseThoughTheServerForgetsEverything() throws Exception {
    LockKey key = Claims.freshKey();
    long before = 0;
    for (int i = 0; i < 5; i++) {
      long number = first.tryAcquire(Claims.claim(key)).orElseThrow().number();
      assertThat(number).isGreaterThan(before);
      before = number;
      redis.flushAll();
    }
    // And though its clock was ahead when it gave the last one.
    long ahead = before + TimeUnit.MINUTES.toMicros(10);
    Stored.setNumber(redis, Stored.keyOf(key), ahead);
    assertThat(first.tryAcquire(Claims.claim(key)).orElseThrow().number()).isEqualTo(ahead + 1);
  }

  @Test
  void aNumberIsKeptLongerThanItsGrantButNotForEver() throws Exception {
    LockKey key = Claims.freshKey();
    Grant held = first.tryAcquire(Claims.claim(key)).orElseThrow();
    Stored.setLeft(redis, Stored.keyOf(key), Claims.TTL.dividedBy(2));
    assertThat(first.renew(List.of(held))).containsExactly(new Renewal.Renewed(Claims.TTL));
    assertThat(redis.pttl(Stored.keyOf(key)))
        .isGreaterThan(TimeUnit.HOURS.toMillis(1) + Claims.TTL.toMillis() / 2)
        .isLessThanOrEqualTo(TimeUnit.HOURS.toMillis(1) + Claims.TTL.toMillis());
  }

  @Test
  void aNumberIsKeptForAsLongAsWhoTakesTheLockSays() throws Exception {
    LockKey key = Claims.freshKey();
    Duration kept = Duration.ofMinutes(2);
    try (LockStore brief =
        Stores.open(RedisLocks.builder(redis).keepNumbersFor(kept), Stores.settings())) {
      Grant held = brief.tryAcquire(Claims.claim(key)).orElseThrow();
      assertThatKept(key, kept);
      assertThat(first.tryAcquire(Claims.claim(key))).isEmpty();
      Stores.Waiter waiter = Stores.Waiter.join(first, key);
      assertThat(brief.renew(List.of(held))).containsExactly(new Renewal.Renewed(Claims.TTL));
      assertThat(brief.extend(held, Claims.TTL)).isPresent();
      assertThatKept(key, kept);
      assertThat(brief.release(held, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      Grant next = waiter.awaitGrant();
      assertThatKept(key, kept);
      assertThat(first.release(next, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    }
    assertThat(first.tryAcquire(Claims.claim(key))).isPresent();
    assertThatKept(key, Stores.NUMBERS_KEPT);
  }

  private void assertThatKept(LockKey key, Duration kept) {
    assertThat(redis.pttl(Stored.keyOf(key)))
        .isGreaterThan(kept.toMillis())
        .isLessThanOrEqualTo(kept.plus(Claims.TTL).toMillis());
  }

  @Test
  void numbersAreKeptForNeitherLessThanAPlaceInLineNorForEver() {
    RedisLocks.Builder builder = RedisLocks.builder(redis);
    for (Duration wrong : List.of(Duration.ZERO, Duration.ofSeconds(9), Duration.ofDays(31))) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> builder.keepNumbersFor(wrong))
          .withMessageContaining(wrong.toString())
          .withMessageContaining("PT10S");
    }
  }

  @Test
  void thoseWhoWaitLongCostLittle() throws Exception {
    try (LockClient holder = RedisLocks.builder(redis).build();
        LockClient waiters = RedisLocks.builder(redis).build()) {
      String name = Claims.freshKey().name();
      ExecutorService executor = Executors.newCachedThreadPool();
      try (Lease lease = holder.get(name).lock()) {
        List<Future<Optional<Lease>>> waiting = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
          waiting.add(executor.submit(() -> waiters.get(name).tryLock(Duration.ofSeconds(20))));
        }
        Await.until("waits", () -> Stored.waiting(redis, Stored.keyOf(name)) > 0);
        Await.pause(Duration.ofSeconds(1));
        long before = commands();
        long begin = System.nanoTime();
        Await.pause(Duration.ofSeconds(5));
        double seconds = (System.nanoTime() - begin) / 1e9;
        assertThat((commands() - before) / seconds).isLessThanOrEqualTo(2);
        assertThat(lease.isHeld()).isTrue();
        for (Future<Optional<Lease>> waiter : waiting) {
          assertThat(waiter.get(30, TimeUnit.SECONDS)).isEmpty();
        }
      } finally {
        executor.shutdown();
      }
    }
  }

  @Tag("soak")
  @Test
  void fiftyClientsThatWaitSendAtMostOneCommandEachSecond() throws Exception {
    String name = Claims.freshKey().name();
    ExecutorService executor = Executors.newCachedThreadPool();
    List<LockClient> clients = new ArrayList<>();
    List<Future<Optional<Lease>>> waiting = new ArrayList<>();
    try (LockClient holder = RedisLocks.builder(redis).build();
        Lease lease = holder.get(name).lock()) {
      for (int i = 0; i < 50; i++) {
        LockClient client = RedisLocks.builder(redis).build();
        clients.add(client);
        waiting.add(executor.submit(() -> client.get(name).tryLock(Duration.ofSeconds(30))));
      }
      Await.until("all wait", () -> Stored.waiting(redis, Stored.keyOf(name)) == 50);
      // Who begins to wait polls once more when it begins to hear.
      Await.pause(Duration.ofSeconds(3));
      long before = commands();
      long begin = System.nanoTime();
      Await.pause(Duration.ofSeconds(10));
      double seconds = (System.nanoTime() - begin) / 1e9;
      double perClient = (commands() - before) / seconds / 50;
      assertThat(perClient)
          .as("commands per client and second")
          .isPositive()
          .isLessThanOrEqualTo(1);
      assertThat(waiting).noneMatch(Future::isDone);
      assertThat(lease.isHeld()).isTrue();
    } finally {
      clients.forEach(LockClient::close);
      executor.shutdownNow();
    }
  }

  /** Those that a client sends; what scripts call is counted apart. */
  private long commands() {
    return Stores.calls(redis, "evalsha")
        + Stores.calls(redis, "eval")
        + Stores.calls(redis, "ping")
        + Stores.calls(redis, "subscribe");
  }
}
