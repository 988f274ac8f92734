package io.holdfast.lock.redis.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.redis.FailingPool;
import io.holdfast.lock.redis.ManyServers;
import io.holdfast.lock.redis.RedisGuard;
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
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoreSettings;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.spi.TimeSource;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Link;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.exceptions.JedisConnectionException;

/** The failures that a quorum of three bears, and those that it does not. */
@Tag("nightly")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class QuorumTest {
  private static final int SERVERS = 3;
  private static final Duration CONTENTION_MAX = Duration.ofSeconds(50);

  private ManyServers servers;
  private List<RedisClient> clients;

  @BeforeAll
  void open() throws Exception {
    servers = ManyServers.independent(SERVERS);
    clients = IntStream.range(0, SERVERS)
        .mapToObj(i -> Stores.client(servers.address(i), 30))
        .toList();
  }

  @AfterEach
  void repair() throws Exception {
    for (int i = 0; i < SERVERS; i++) {
      if (!servers.isRunning(i)) {
        servers.restart(i);
      }
      // Connections to a server that was killed.
      clients.get(i).getPool().clear();
    }
  }

  @AfterAll
  void close() {
    if (servers != null) {
      clients.forEach(RedisClient::close);
      servers.close();
    }
  }

  private LockClientBuilder<?> builder() {
    return RedisLocks.quorum(clients)
        .storeTimeout(Duration.ofSeconds(5))
        .defaultOptions(LockOptions.renewed(Duration.ofSeconds(15)));
  }

  private QuorumStore store() throws StoreException {
    return (QuorumStore) Stores.open(RedisLocks.quorum(clients), Stores.settings());
  }

  @Test
  void theKeyThatTellsServersApartIsGoneSoonAfterTheBuild() throws Exception {
    String prefix = "checked-" + UUID.randomUUID();
    try (LockClient client = RedisLocks.quorum(clients).prefix(prefix).build()) {
      // Its deletion is not awaited by the build.
      for (RedisClient server : clients) {
        Await.until("the key is deleted", () -> server.keys(prefix + ":*").isEmpty());
      }
      client.get("x").lock().close();
    }
  }

  /** As when a release has reached one of two servers, and the third is away. */
  @Test
  void aSplitThatEndsWithinTheStoreTimeoutIsNotCalledBusy() throws Exception {
    ExecutorService executor = Executors.newSingleThreadExecutor();
    // Long enough that a busy machine has time to ask again after the split has ended.
    try (LockClient client = builder()
            .storeTimeout(Duration.ofSeconds(10))
            .defaultOptions(LockOptions.renewed(Duration.ofSeconds(30)))
            .build();
        LockClient ofOneServer = RedisLocks.builder(clients.get(1)).build()) {
      String name = Claims.freshKey().name();
      client.get(name).lock().close(); // Connections are there, and scripts loaded.
      servers.kill(0);
      Lease left = ofOneServer.get(name).lock();
      Future<?> released = executor.submit(() -> {
        Await.pause(Duration.ofSeconds(1));
        left.close();
        return null;
      });
      Optional<Lease> lease = client.get(name).tryLock();
      released.get(20, TimeUnit.SECONDS);
      assertThat(lease).isPresent();
      lease.orElseThrow().close();
    } finally {
      executor.shutdown();
    }
  }

  /** Two attempts have a server each, the third is away, and an answer takes a while. */
  @Test
  void aSplitThatLastsIsNoFailureOfTheServers() throws Exception {
    List<FaultProxy> ways = new ArrayList<>();
    List<RedisClient> slow = new ArrayList<>();
    try (LockClient ofOneServer =
            RedisLocks.builder(clients.get(1)).clientName("one").build();
        LockClient ofAnother =
            RedisLocks.builder(clients.get(2)).clientName("other").build()) {
      for (int i = 0; i < SERVERS; i++) {
        FaultProxy way =
            FaultProxy.open(servers.address(i).getHost(), servers.address(i).getPort());
        ways.add(way);
        slow.add(Stores.client(new HostAndPort(way.host(), way.port()), 8));
      }
      String name = Claims.freshKey().name();
      Lease one = ofOneServer.get(name).lock();
      Lease another = ofAnother.get(name).lock();
      try (LockClient client =
          RedisLocks.quorum(slow).storeTimeout(Duration.ofSeconds(8)).build()) {
        client.get(Claims.freshKey().name()).lock().close(); // Connections and scripts are there.
        ways.forEach(way -> way.delay(Link.Direction.REPLIES, Duration.ofMillis(300)));
        assertThat(client.get(name).tryLock()).isEmpty();
        ways.forEach(FaultProxy::heal);
      }
      one.close();
      another.close();
    } finally {
      slow.forEach(RedisClient::close);
      ways.forEach(FaultProxy::close);
    }
  }

  @Test
  void oneOfThreeThatIsKilledIsBorne() throws Exception {
    try (LockClient first = builder().build();
        LockClient second = builder().build()) {
      String name = Claims.freshKey().name();
      Lease held = first.get(name).lock();
      servers.kill(0);
      held.verify();
      assertThat(second.get(name).tryLock()).isEmpty();
      // Renewed more than once without it.
      Await.pause(Duration.ofSeconds(16));
      assertThat(held.isHeld()).isTrue();
      held.close();
      Lease next = second.get(name).lock();
      assertThat(next.token()).isGreaterThan(held.token());
      // A client that begins now has no need of it either.
      try (LockClient third = builder().build()) {
        assertThat(third.get(name).tryLock()).isEmpty();
        next.close();
        third.get(name).lock().close();
      }
    }
  }

  @Test
  void twoOfThreeThatAreKilledAreAFailureAndNeitherALeaseNorBusy() throws Exception {
    try (LockClient locks = builder().build()) {
      String name = Claims.freshKey().name();
      Lease held = locks.get(name).lock();
      servers.kill(0);
      servers.kill(2);
      assertThatExceptionOfType(LockStoreException.class)
          .isThrownBy(() -> locks.get(Claims.freshKey().name()).tryLock())
          .withMessageContaining("of 3 servers answered");
      assertThatExceptionOfType(LockStoreException.class)
          .isThrownBy(() -> locks.get(Claims.freshKey().name()).tryLock(Duration.ofSeconds(10)))
          .withMessageContaining("of 3 servers answered");
      assertThatExceptionOfType(LockStoreException.class).isThrownBy(held::verify);
      assertThatExceptionOfType(LockStoreException.class)
          .isThrownBy(() -> RedisLocks.quorum(clients).build().close())
          .withMessageContaining("of 3 servers answered");
      Await.until("lost", () -> !held.isHeld());
      assertThatExceptionOfType(LockLostException.class).isThrownBy(held::close);
      servers.restart(0);
      Await.until("usable again", () -> acquires(locks.get(name), held.token()));
    }
  }

  private static boolean acquires(DistributedLock lock, long above) {
    try {
      Optional<Lease> lease = lock.tryLock();
      lease.ifPresent(taken -> {
        assertThat(taken.token()).isGreaterThan(above);
        taken.close();
      });
      return lease.isPresent();
    } catch (LockStoreException e) {
      return false;
    }
  }

  @Test
  void numbersRiseWhicheverMajorityGivesThem() throws Exception {
    LockKey key = Claims.freshKey();
    String stored = Stored.keyOf(key);
    try (QuorumStore store = store()) {
      // As if the clock of one were an hour ahead.
      long ahead =
          TimeUnit.MILLISECONDS.toMicros(System.currentTimeMillis()) + TimeUnit.HOURS.toMicros(1);
      Stored.setNumber(clients.get(0), stored, ahead);
      long last = 0;
      for (int away : new int[] {1, 0, 2}) {
        servers.kill(away);
        Grant grant = store.tryAcquire(Claims.claim(key)).orElseThrow();
        assertThat(grant.number()).isGreaterThan(last).isGreaterThan(ahead);
        last = grant.number();
        for (int i = 0; i < SERVERS; i++) {
          if (i != away) {
            assertThat(Stored.number(clients.get(i), stored)).isEqualTo(last);
          }
        }
        assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
        servers.restart(away);
        clients.get(away).getPool().clear();
      }
    }
  }

  @Tag("each-jedis")
  @Test
  void aMinorityIsGivenBack() throws Exception {
    LockKey key = Claims.freshKey();
    String lock = Stored.keyOf(key);
    try (QuorumStore store = store()) {
      Grant held = store.tryAcquire(Claims.claim(key)).orElseThrow();
      Await.until("on all", () -> clients.stream().allMatch(client -> client.exists(lock)));
      clients.get(1).del(lock);
      // The only one that is free gives its key, and has it back.
      assertThat(store.tryAcquire(Claims.claim(key))).isEmpty();
      Await.until("given back", () -> !Stored.isTaken(clients.get(1), lock));
      assertThat(store.renew(List.of(held))).allMatch(Renewal.Renewed.class::isInstance);
      assertThat(store.verify(held)).isPresent();
      assertThat(store.inspect(key).orElseThrow().number()).isEqualTo(held.number());
      clients.get(2).del(lock);
      assertThat(store.verify(held)).isEmpty();
      assertThat(store.renew(List.of(held))).containsExactly(new Renewal.Lost());
      assertThat(store.release(held, Duration.ZERO)).isEqualTo(ReleaseOutcome.ALREADY_LOST);
      assertThat(store.inspect(key)).isEmpty();
    }
  }

  @Test
  void aLeaseIsExtendedOnceAMajorityHasExtendedIt() throws Exception {
    LockKey key = Claims.freshKey();
    String lock = Stored.keyOf(key);
    Duration longer = Claims.TTL.multipliedBy(4);
    try (QuorumStore store = store()) {
      Grant held = store.tryAcquire(Claims.claim(key)).orElseThrow();
      Await.until("on all", () -> clients.stream().allMatch(client -> client.exists(lock)));
      // The time is a majority's, so one that has it for longer counts no more than the others.
      Stored.setLeft(clients.get(0), lock, longer.multipliedBy(2));
      Duration extended = store.extend(held, longer).orElseThrow();
      assertThat(extended)
          .isBetween(QuorumGrant.lessDrift(longer), QuorumGrant.lessDrift(longer.plusSeconds(1)));
      assertThat(store.verify(held).orElseThrow())
          .isBetween(longer.minusSeconds(10), QuorumGrant.lessDrift(longer));
      assertThat(store.extend(held, Claims.TTL).orElseThrow())
          .as("never shorter")
          .isGreaterThan(Claims.TTL.multipliedBy(3));

      clients.get(0).del(lock);
      assertThat(store.extend(held, longer)).as("by two of three").isPresent();
      assertThat(clients.get(0).exists(lock)).as("made anew").isFalse();
      clients.get(1).del(lock);
      assertThat(store.extend(held, longer)).as("by one of three").isEmpty();
      assertThat(clients.get(1).exists(lock)).as("made anew").isFalse();
    }
  }

  @Test
  void anExtensionThatTooFewAnswerIsAFailure() throws Exception {
    try (QuorumStore store = store()) {
      Grant held = store.tryAcquire(Claims.claim(Claims.freshKey())).orElseThrow();
      servers.kill(0);
      assertThat(store.extend(held, Claims.TTL)).isPresent();
      servers.kill(1);
      assertThatExceptionOfType(StoreException.class)
          .isThrownBy(() -> store.extend(held, Claims.TTL))
          .withMessageContaining("1 of 3 servers answered");
      assertThatExceptionOfType(StoreException.class)
          .isThrownBy(() -> store.list(LockKind.MUTEX, "", 1))
          .withMessageContaining("of 3 servers answered");
    }
  }

  @Test
  void whatAMajorityShowsIsListed() throws Exception {
    String fresh = Claims.freshKey().name() + "/{*}";
    try (QuorumStore store = store()) {
      Instant before = Instant.now();
      Map<String, Grant> held = new HashMap<>();
      for (int i = 0; i < 1_200; i++) {
        Claim claim = Claims.claim(Claims.key(fresh + i), Stores.LONG_TTL);
        Grant grant = store.tryAcquire(claim).orElseThrow();
        held.put(grant.claim().key().name(), grant);
      }
      Grant kept = held.get(fresh + 7);
      assertThat(store.release(kept, Claims.TTL)).isEqualTo(ReleaseOutcome.RELEASED);
      Grant byOne = held.remove(fresh + 8);
      Grant byTwo = held.get(fresh + 9);
      String lockOfOne = Stored.keyOf(byOne.claim().key());
      Await.until("on all", () -> clients.stream().allMatch(client -> client.exists(lockOfOne)));
      clients.get(0).del(lockOfOne);
      clients.get(1).del(lockOfOne);
      clients.get(0).del(Stored.keyOf(byTwo.claim().key()));

      List<StoredLock> listed = store.list(LockKind.MUTEX, fresh, 10_000);
      assertThat(listed)
          .extracting(lock -> lock.key().name())
          .containsExactlyInAnyOrderElementsOf(held.keySet());
      for (StoredLock lock : listed) {
        StoredHolder holder = lock.holder();
        assertThat(holder.number()).isEqualTo(held.get(lock.key().name()).number());
        assertThat(holder.released()).isEqualTo(lock.key().equals(kept.claim().key()));
        assertThat(holder.since())
            .isBetween(before.minusSeconds(1), Instant.now().plusSeconds(1));
        assertThat(lock.waiting()).isEmpty();
      }
      assertThat(store.list(LockKind.MUTEX, fresh, 5)).hasSize(5).doesNotHaveDuplicates();

      // What one of the majority has not shown is asked about, in parts.
      held.values()
          .forEach(grant -> clients.get(0).del(Stored.keyOf(grant.claim().key())));
      assertThat(store.list(LockKind.MUTEX, fresh, 10_000))
          .extracting(lock -> lock.key().name())
          .containsExactlyInAnyOrderElementsOf(held.keySet());
    }
  }

  @Test
  void aListDoesNotWaitForAServerThatIsAway() throws Exception {
    String fresh = Claims.freshKey().name();
    try (QuorumStore store = store()) {
      for (int i = 0; i < 50; i++) {
        assertThat(store.tryAcquire(Claims.claim(Claims.key(fresh + i), Stores.LONG_TTL)))
            .isPresent();
      }
      servers.kill(0);
      assertThat(store.list(LockKind.MUTEX, fresh, 10_000)).hasSize(50);
      servers.restart(0);
      servers.pause(1);
      try {
        long beganNanos = System.nanoTime();
        // A server that is away is silent: what only one of the others has may be its.
        clients.get(0).getPool().clear();
        assertThat(store.list(LockKind.MUTEX, fresh, 10_000)).hasSize(50);
        assertThat(Duration.ofNanos(System.nanoTime() - beganNanos))
            .isLessThan(Stores.STORE_TIMEOUT);
      } finally {
        servers.goOn(1);
      }
    }
  }

  /** The lock is on two servers, and one of those is always later than the others. */
  @Test
  void aServerThatIsOnlyLateIsHeardIfItsAnswerDecides() throws Exception {
    LockKey key = Claims.freshKey();
    String lock = Stored.keyOf(key);
    try (QuorumStore store = store();
        FaultProxy way =
            FaultProxy.open(servers.address(1).getHost(), servers.address(1).getPort());
        RedisClient late = Stores.client(new HostAndPort(way.host(), way.port()), 8);
        QuorumStore asking = (QuorumStore) Stores.open(
            RedisLocks.quorum(List.of(clients.get(0), late, clients.get(2))), Stores.settings())) {
      Grant held = store.tryAcquire(Claims.claim(key)).orElseThrow();
      Await.until("on all", () -> clients.stream().allMatch(client -> client.exists(lock)));
      clients.get(0).del(lock);
      way.delay(Link.Direction.REPLIES, Duration.ofMillis(300));
      assertThat(asking.list(LockKind.MUTEX, key.name(), 10)).hasSize(1);
      assertThat(asking.inspect(key)).map(StoredHolder::number).contains(held.number());
      way.heal();
    }
  }

  @Test
  void whatMayBeTakenForAllThatIsKnownIsNeitherListedNorLeftOut() throws Exception {
    LockKey key = Claims.freshKey();
    String lock = Stored.keyOf(key);
    StoreSettings hurried =
        new StoreSettings("hurried", Duration.ofSeconds(2), TimeSource.system(), Claims.NO_EVENTS);
    try (QuorumStore store = store();
        QuorumStore asking = (QuorumStore) Stores.open(RedisLocks.quorum(clients), hurried)) {
      assertThat(store.tryAcquire(Claims.claim(key))).isPresent();
      Await.until("on all", () -> clients.stream().allMatch(client -> client.exists(lock)));
      clients.get(1).del(lock);
      servers.kill(0);
      assertThatExceptionOfType(StoreException.class)
          .isThrownBy(() -> asking.list(LockKind.MUTEX, key.name(), 10))
          .withMessageContaining(key.name());
    }
  }

  @Test
  void aTicketThatWasGrantedClosesWithoutGivingBack() throws Exception {
    LockKey key = Claims.freshKey();
    try (QuorumStore store = store()) {
      Grant held = store.tryAcquire(Claims.claim(key)).orElseThrow();
      Stores.Waiter waiter = Stores.Waiter.join(store, key);
      assertThat(store.release(held, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      Grant granted = waiter.awaitGrant();
      waiter.ticket().close();
      assertThat(store.verify(granted)).isPresent();
      store.withdraw(waiter.claim());
      waiter.ticket().close();
      assertThat(store.inspect(key)).isEmpty();
    }
  }

  @Test
  void aTtlThatTheDriftWouldTakeBelowTheStoreTimeoutIsRefusedWhenTheLockIsMade() {
    try (LockClient locks = builder().build()) {
      LockOptions tooShort = LockOptions.fixed(Duration.ofMillis(5_010));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> locks.get("short", tooShort))
          .withMessageContaining("PT5.01S")
          .withMessageContaining("at least PT5.053");
      assertThat(locks.get("short", LockOptions.fixed(Duration.ofMillis(5_054))))
          .isNotNull();
    }
  }

  @Test
  void aServerThatHangsDelaysNobody() throws Exception {
    LockKey key = Claims.freshKey();
    try (QuorumStore store = store()) {
      servers.pause(1);
      try {
        long last = 0;
        long beganNanos = System.nanoTime();
        for (int i = 0; i < 20; i++) {
          Claim claim = Claims.claim(key);
          Grant grant = store.tryAcquire(claim).orElseThrow();
          assertThat(grant.number()).isGreaterThan(last);
          last = grant.number();
          assertThat(store.renew(List.of(grant))).allMatch(Renewal.Renewed.class::isInstance);
          assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
        }
        // Each of the 60 calls would have had to wait for the store timeout.
        assertThat(Duration.ofNanos(System.nanoTime() - beganNanos))
            .isLessThan(Stores.STORE_TIMEOUT.multipliedBy(4));
      } finally {
        servers.goOn(1);
      }
    }
  }

  @Test
  @Timeout(180)
  void contendersNeverOverlapThoughAServerIsKilledAndComesBack() throws Exception {
    String name = Claims.freshKey().name();
    AtomicInteger inside = new AtomicInteger();
    AtomicInteger turns = new AtomicInteger();
    AtomicLong lastToken = new AtomicLong();
    ExecutorService executor = Executors.newCachedThreadPool();
    List<Future<?>> contenders = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      contenders.add(executor.submit(() -> {
        // Nobody is to lose a lease because this machine is slow.
        try (LockClient locks = builder()
            .storeTimeout(Duration.ofSeconds(10))
            .defaultOptions(LockOptions.renewed(Duration.ofSeconds(30)))
            .build()) {
          for (int turn = 0; turn < 15; turn++) {
            try (Lease lease = locks.get(name).lock()) {
              assertThat(inside.incrementAndGet()).isEqualTo(1);
              assertThat(lease.token()).isGreaterThan(lastToken.getAndSet(lease.token()));
              turns.incrementAndGet();
              assertThat(inside.decrementAndGet()).isZero();
            }
          }
        }
        return null;
      }));
    }
    Await.until("some turns", CONTENTION_MAX, () -> turns.get() > 10);
    servers.kill(1);
    Await.until("turns without it", CONTENTION_MAX, () -> turns.get() > 30);
    servers.restart(1);
    for (Future<?> contender : contenders) {
      assertThat(contender.get(50, TimeUnit.SECONDS)).isNull();
    }
    executor.shutdown();
  }

  @Test
  void aServerThatFailsAfterItGaveItsKeyIsBorneIfTheOthersAreAMajority() throws Exception {
    LockKey key = Claims.freshKey();
    String lock = Stored.keyOf(key);
    // Until the first server has failed, somebody else has the key of the third.
    try (LockStore another = Stores.open(clients.get(2))) {
      assertThat(another.tryAcquire(Claims.claim(key))).isPresent();
    }
    AtomicInteger requests = new AtomicInteger();
    try (FailingPool failing = new FailingPool(servers.address(0));
        QuorumStore store = QuorumStore.open(
            List.of(failing, clients.get(1).getPool(), clients.get(2).getPool()),
            Stores.PREFIX,
            Stores.NUMBERS_KEPT,
            Stores.settings())) {
      failing.beforeEach(() -> {
        int request = requests.incrementAndGet();
        if (request == 2) {
          clients.get(2).del(lock);
        }
        if (request > 1) {
          throw new JedisConnectionException("Killed after the first request");
        }
      });
      Grant grant = store.tryAcquire(Claims.claim(key)).orElseThrow();
      assertThat(requests).hasValueGreaterThan(1);
      assertThat(store.verify(grant)).isPresent();
      assertThat(clients.get(2).exists(lock)).isTrue();
    }
  }

  @Test
  void thereIsNoGuard() throws Exception {
    try (LockClient locks = builder().build();
        Lease lease = locks.get(Claims.freshKey().name()).lock()) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> RedisGuard.of(lease).set("key", "value"))
          .withMessageContaining("quorum")
          .withMessageContaining("token");
    }
  }

  @Test
  void whatIsNoQuorumIsRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> RedisLocks.quorum(clients.subList(0, 2)))
        .withMessageContaining("was given 2");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> RedisLocks.quorum(List.of(clients.get(0), clients.get(1), clients.get(0))))
        .withMessageContaining("twice");
    try (RedisClient again = Stores.client(servers.address(0), 2)) {
      assertThatIllegalStateException()
          .isThrownBy(() -> RedisLocks.quorum(List.of(clients.get(0), clients.get(1), again))
              .build()
              .close())
          .withMessageContaining("one server");
    }
  }
}
