package io.holdfast.lock.redis;

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
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.exceptions.JedisConnectionException;

/** What a quorum of three bears, and what it does not. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class QuorumTest {
  private static final int SERVERS = 3;
  private static final Duration CONTENTION_MAX = Duration.ofSeconds(50);

  private ManyServers servers;
  private List<RedisClient> clients;

  @BeforeAll
  void open() throws Exception {
    servers = ManyServers.independent(RedisContainer.REDIS, SERVERS);
    clients = IntStream.range(0, SERVERS)
        .mapToObj(i -> RedisAccess.client(servers.address(i), 30))
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
    return (QuorumStore) RedisLocks.quorum(clients).openStore(Stores.settings());
  }

  @Test
  void oneOfThreeThatIsKilledIsBorne() throws Exception {
    try (LockClient first = builder().build();
        LockClient second = builder().build()) {
      String name = Stores.freshKey().name();
      Lease held = first.get(name).lock();
      servers.kill(0);
      held.verify();
      assertThat(second.get(name).tryLock()).isEmpty();
      // Renewed more than once without it.
      Stores.pause(Duration.ofSeconds(16));
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
      String name = Stores.freshKey().name();
      Lease held = locks.get(name).lock();
      servers.kill(0);
      servers.kill(2);
      assertThatExceptionOfType(LockStoreException.class)
          .isThrownBy(() -> locks.get(Stores.freshKey().name()).tryLock())
          .withMessageContaining("of 3 servers answered");
      assertThatExceptionOfType(LockStoreException.class)
          .isThrownBy(() -> locks.get(Stores.freshKey().name()).tryLock(Duration.ofSeconds(10)))
          .withMessageContaining("of 3 servers answered");
      assertThatExceptionOfType(LockStoreException.class).isThrownBy(held::verify);
      assertThatExceptionOfType(LockStoreException.class)
          .isThrownBy(() -> RedisLocks.quorum(clients).build().close())
          .withMessageContaining("of 3 servers answered");
      Stores.await("lost", () -> !held.isHeld());
      assertThatExceptionOfType(LockLostException.class).isThrownBy(held::close);
      servers.restart(0);
      Stores.await("usable again", () -> acquires(locks.get(name), held.token()));
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
    LockKey key = Stores.freshKey();
    String number = Keys.of(RedisLocks.DEFAULT_PREFIX, key).number();
    try (QuorumStore store = store()) {
      // As if the clock of one were an hour ahead.
      long ahead =
          TimeUnit.MILLISECONDS.toMicros(System.currentTimeMillis()) + TimeUnit.HOURS.toMicros(1);
      clients.get(0).set(number, Long.toString(ahead));
      long last = 0;
      for (int away : new int[] {1, 0, 2}) {
        servers.kill(away);
        Grant grant = store.tryAcquire(Stores.claim(key)).orElseThrow();
        assertThat(grant.number()).isGreaterThan(last).isGreaterThan(ahead);
        last = grant.number();
        for (int i = 0; i < SERVERS; i++) {
          if (i != away) {
            assertThat(clients.get(i).get(number)).isEqualTo(Long.toString(last));
          }
        }
        assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
        servers.restart(away);
        clients.get(away).getPool().clear();
      }
    }
  }

  @Test
  void aMinorityIsGivenBack() throws Exception {
    LockKey key = Stores.freshKey();
    String lock = Keys.of(RedisLocks.DEFAULT_PREFIX, key).lock();
    try (QuorumStore store = store()) {
      Grant held = store.tryAcquire(Stores.claim(key)).orElseThrow();
      Stores.await("on all", () -> clients.stream().allMatch(client -> client.exists(lock)));
      clients.get(1).del(lock);
      // The only one that is free gives its key, and has it back.
      assertThat(store.tryAcquire(Stores.claim(key))).isEmpty();
      Stores.await("given back", () -> !clients.get(1).exists(lock));
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
  void aServerThatHangsDelaysNobody() throws Exception {
    LockKey key = Stores.freshKey();
    try (QuorumStore store = store()) {
      servers.pause(1);
      try {
        long last = 0;
        long beganNanos = System.nanoTime();
        for (int i = 0; i < 20; i++) {
          Claim claim = Stores.claim(key);
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
    String name = Stores.freshKey().name();
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
    Stores.await("some turns", CONTENTION_MAX, () -> turns.get() > 10);
    servers.kill(1);
    Stores.await("turns without it", CONTENTION_MAX, () -> turns.get() > 30);
    servers.restart(1);
    for (Future<?> contender : contenders) {
      assertThat(contender.get(50, TimeUnit.SECONDS)).isNull();
    }
    executor.shutdown();
  }

  @Test
  void aServerThatFailsAfterItGaveItsKeyIsBorneIfTheOthersAreAMajority() throws Exception {
    LockKey key = Stores.freshKey();
    String lock = Keys.of(RedisLocks.DEFAULT_PREFIX, key).lock();
    // Until the first server has failed, somebody else has the key of the third.
    clients.get(2).set(lock, "somebody else's");
    AtomicInteger requests = new AtomicInteger();
    try (FailingPool failing = new FailingPool(servers.address(0));
        QuorumStore store = QuorumStore.open(
            List.of(failing, clients.get(1).getPool(), clients.get(2).getPool()),
            RedisLocks.DEFAULT_PREFIX,
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
      Grant grant = store.tryAcquire(Stores.claim(key)).orElseThrow();
      assertThat(requests).hasValueGreaterThan(1);
      assertThat(store.verify(grant)).isPresent();
      assertThat(clients.get(2).exists(lock)).isTrue();
    }
  }

  /** Connections to a server that fails when it is told to. */
  private static final class FailingPool extends ConnectionPool {
    private volatile Runnable beforeEach = () -> {};

    FailingPool(HostAndPort address) {
      super(address, DefaultJedisClientConfig.builder().build());
    }

    void beforeEach(Runnable task) {
      beforeEach = task;
    }

    @Override
    public Connection borrowObject(Duration wait) throws Exception {
      beforeEach.run();
      return super.borrowObject(wait);
    }
  }

  @Test
  void thereIsNoGuard() throws Exception {
    try (LockClient locks = builder().build();
        Lease lease = locks.get(Stores.freshKey().name()).lock()) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> RedisGuard.on(lease).set("key", "value"))
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
    try (RedisClient again = RedisAccess.client(servers.address(0), 2)) {
      assertThatIllegalStateException()
          .isThrownBy(() -> RedisLocks.quorum(List.of(clients.get(0), clients.get(1), again))
              .build()
              .close())
          .withMessageContaining("one server");
    }
  }
}
