package io.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.LockListener;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.redis.server.JedisProviders;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredLock;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.providers.ClusterConnectionProvider;

/** A Cluster that moves a slot, for as long as that takes. */
@Tag("nightly")
@Tag("each-jedis")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ReshardTest {
  private ManyServers servers;
  private RedisClusterClient redis;

  @BeforeAll
  void open() throws Exception {
    servers = ManyServers.clusterWithEmptyNode();
    redis = ClusterFixture.client(servers);
  }

  @AfterAll
  void close() {
    if (servers != null) {
      redis.close();
      servers.close();
    }
  }

  private LockStore store() throws Exception {
    return RedisLocks.builder(redis).openStore(Stores.settings());
  }

  /** Of a node without slots nothing is said there, so Jedis closes its pool at each look. */
  @Test
  @Order(1)
  void aNodeThatHasNoSlotYetIsUsedHoweverOftenJedisLooksAtTheCluster() throws Exception {
    SlotMove move = SlotMove.of(servers, Claims.freshKey().name(), true);
    ClusterConnectionProvider jedis = JedisProviders.of(redis, ClusterConnectionProvider.class);
    ExecutorService executor = Executors.newSingleThreadExecutor();
    move.begin();
    try (LockStore store = store()) {
      Future<?> looks = executor.submit(() -> {
        while (true) {
          jedis.renewSlotCache();
          Await.pause(Duration.ofMillis(10));
        }
      });
      Grant held = grant(store, move);
      for (int i = 0; i < 300; i++) {
        Grant grant = grant(store, move);
        assertThat(store.renew(List.of(held, grant)))
            .containsExactly(new Renewal.Renewed(Claims.TTL), new Renewal.Renewed(Claims.TTL));
        assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      }
      assertThat(looks.isDone()).isFalse();
    } finally {
      executor.shutdownNow();
      move.giveUp();
    }
  }

  /** To one that has slots, and is known, and to one that has none yet. */
  @Test
  void whateverIsAskedWhileASlotMovesIsAnswered() throws Exception {
    for (boolean toTheEmptyOne : new boolean[] {false, true}) {
      SlotMove move = SlotMove.of(servers, Claims.freshKey().name(), toTheEmptyOne);
      try (LockStore store = store();
          LockStore other = store()) {
        Grant released = grant(store, move);
        Grant withdrawn = grant(store, move);
        Grant forced = grant(store, move);
        Grant contended = grant(store, move);
        Stores.Waiter waiter = Stores.Waiter.join(other, contended.claim().key());
        List<Grant> renewed = List.of(grant(store, move), grant(store, move), grant(store, move));
        Grant free = grant(store, move);
        assertThat(store.release(free, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
        assertThatTheyAreRenewed(store, renewed);

        move.begin();
        useOneAfterTheOther(store, move, free.claim().key());
        assertThatTheyAreRenewed(store, renewed);
        assertThat(store.release(released, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);

        move.moveKeys(5);
        useOneAfterTheOther(store, move, free.claim().key());
        assertThatTheyAreRenewed(store, renewed);

        move.moveKeys(100);
        useOneAfterTheOther(store, move, free.claim().key());
        assertThatTheyAreRenewed(store, renewed);
        store.withdraw(withdrawn.claim());
        assertThat(store.inspect(withdrawn.claim().key())).isEmpty();
        assertThat(store.forceRelease(forced.claim().key(), forced.number())).isTrue();
        assertThat(store.inspect(contended.claim().key()).orElseThrow().number())
            .isEqualTo(contended.number());
        assertThat(store.release(contended, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
        Grant next = waiter.awaitGrant();
        assertThat(next.number()).isGreaterThan(contended.number());

        move.end();
        useOneAfterTheOther(store, move, free.claim().key());
        assertThatTheyAreRenewed(store, renewed);
        assertThat(other.release(next, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      }
    }
  }

  private static Grant grant(LockStore store, SlotMove move) throws Exception {
    return store.tryAcquire(Claims.claim(Claims.key(move.nextName()))).orElseThrow();
  }

  private static void assertThatTheyAreRenewed(LockStore store, List<Grant> grants)
      throws Exception {
    assertThat(store.renew(grants))
        .containsOnly(new Renewal.Renewed(Claims.TTL))
        .hasSize(3);
  }

  /** One that was never used, and one that is free. */
  private static void useOneAfterTheOther(LockStore store, SlotMove move, LockKey free)
      throws Exception {
    long lastNumber = 0;
    for (LockKey key : List.of(Claims.key(move.nextName()), free, free)) {
      Grant grant = store.tryAcquire(Claims.claim(key)).orElseThrow();
      assertThat(store.tryAcquire(Claims.claim(key))).isEmpty();
      assertThat(store.verify(grant)).isPresent();
      assertThat(store.extend(grant, Claims.TTL)).isPresent();
      assertThat(store.renew(List.of(grant))).containsExactly(new Renewal.Renewed(Claims.TTL));
      assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      assertThat(grant.number()).isGreaterThan(lastNumber);
      lastNumber = grant.number();
    }
  }

  /** The client of Jedis was there before the node had a slot. */
  @Test
  void theLocksOfANodeThatGotItsFirstSlotLaterAreListed() throws Exception {
    String name = Claims.freshKey().name();
    SlotMove move = SlotMove.of(servers, name, true);
    try (LockStore store = store()) {
      List<LockKey> held =
          List.of(grant(store, move).claim().key(), grant(store, move).claim().key());
      move.begin();
      move.end();
      assertThat(store.list(LockKind.MUTEX, name, 10))
          .extracting(StoredLock::key)
          .containsExactlyInAnyOrderElementsOf(held);
    }
  }

  @Test
  void aRightThatIsMissingWhileASlotMovesCostsItsLocksAndNoOthers() throws Exception {
    for (int i = 0; i < 4; i++) {
      try (RedisClient node = RedisAccess.client(servers.address(i), 1)) {
        Stores.allow(node, "locks", "+cluster|slots +cluster|shards");
      }
    }
    SlotMove move = SlotMove.of(servers, Claims.freshKey().name(), false);
    try (RedisClusterClient user = ClusterFixture.client(
            servers, DefaultJedisClientConfig.builder().user("locks").password("secret"));
        LockStore store = RedisLocks.builder(user).openStore(Stores.settings())) {
      Grant moved = grant(store, move);
      Grant other = store.tryAcquire(Claims.claim(Claims.freshKey())).orElseThrow();
      move.begin();
      move.moveAll();
      assertThatExceptionOfType(StoreException.class)
          .isThrownBy(() -> grant(store, move))
          .withMessageContaining("NOPERM");
      assertThat(store.renew(List.of(moved, other)))
          .satisfiesExactly(
              renewal -> assertThat(renewal).isInstanceOf(Renewal.Unknown.class),
              renewal -> assertThat(renewal).isEqualTo(new Renewal.Renewed(Claims.TTL)));
    } finally {
      move.end();
    }
  }

  @Test
  void aGuardedWriteIsMadeWhereItsKeysAreOrRefusedWhileTheyAreApart() throws Exception {
    SlotMove move = SlotMove.of(servers, Claims.freshKey().name(), false);
    String name = move.nextName();
    String written = "stock:{" + name + "}";
    try (LockClient locks =
            RedisLocks.builder(redis).storeTimeout(Duration.ofSeconds(3)).build();
        Lease lease = locks.get(name).lock()) {
      RedisGuard guard = RedisGuard.of(lease);
      guard.set(written, "1");
      move.begin();
      guard.set(written, "2");
      move.moveKey(written);
      assertThatExceptionOfType(LockStoreException.class).isThrownBy(() -> guard.set(written, "3"));
      assertThat(redis.get(written)).isEqualTo("2");
      ExecutorService executor = Executors.newSingleThreadExecutor();
      Future<?> rest = executor.submit(() -> {
        Await.pause(Duration.ofMillis(500));
        move.moveKeys(100);
        return null;
      });
      guard.set(written, "4");
      rest.get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS);
      executor.shutdown();
      move.end();
      guard.set(written, "5");
      assertThat(redis.get(written)).isEqualTo("5");
      assertThat(lease.isHeld()).isTrue();
    }
  }

  @Tag("soak")
  @Timeout(180)
  @Test
  void aSlotThatMovesForAMinuteUnderLoadCostsNothing() throws Exception {
    SlotMove move = SlotMove.of(servers, Claims.freshKey().name(), true);
    List<String> shared = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      shared.add(move.nextName());
    }
    AtomicReferenceArray<String> holders = new AtomicReferenceArray<>(shared.size());
    Queue<String> troubles = new ConcurrentLinkedQueue<>();
    AtomicLong turns = new AtomicLong();
    AtomicLong renewals = new AtomicLong();
    List<LockClient> clients = new ArrayList<>();
    ExecutorService executor = Executors.newCachedThreadPool();
    try {
      List<Lease> held = new ArrayList<>();
      List<Future<?>> load = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        LockClient client = client(troubles, renewals).build();
        clients.add(client);
        for (int j = 0; j < 5; j++) {
          held.add(client.get(move.nextName()).lock());
        }
      }
      long endNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(70);
      for (int i = 0; i < 6; i++) {
        LockClient client = clients.get(i % clients.size());
        String me = "worker " + i;
        load.add(executor.submit(() -> {
          while (System.nanoTime() - endNanos < 0) {
            int index = ThreadLocalRandom.current().nextInt(shared.size());
            boolean isNew = ThreadLocalRandom.current().nextInt(10) == 0;
            String name = isNew ? move.nextName() : shared.get(index);
            try (Lease lease = client.get(name).lock()) {
              if (!isNew && holders.getAndSet(index, me) != null) {
                troubles.add("Unsafe: two holders of " + name);
              }
              lease.verify();
              if (!isNew) {
                holders.set(index, null);
              }
              turns.incrementAndGet();
            } catch (RuntimeException e) {
              troubles.add(me + ": " + e);
            }
          }
          return null;
        }));
      }
      Await.pause(Duration.ofSeconds(2));
      move.begin();
      long beganNanos = System.nanoTime();
      while (System.nanoTime() - beganNanos < TimeUnit.SECONDS.toNanos(60)) {
        Await.pause(Duration.ofSeconds(1));
        move.moveKeys(2);
      }
      move.moveAll();
      move.end();
      for (Future<?> worker : load) {
        worker.get(60, TimeUnit.SECONDS);
      }
      System.out.printf("reshard: %d turns, %d renewals%n", turns.get(), renewals.get());
      assertThat(troubles).isEmpty();
      assertThat(held).allMatch(Lease::isHeld);
      assertThat(turns).hasValueGreaterThan(1_000);
      assertThat(renewals).hasValueGreaterThan(200);
    } finally {
      executor.shutdownNow();
      clients.forEach(LockClient::close);
    }
  }

  private LockClientBuilder<?> client(Queue<String> troubles, AtomicLong renewals) {
    return RedisLocks.builder(redis)
        .storeTimeout(Duration.ofSeconds(3))
        .defaultOptions(LockOptions.renewed(Duration.ofSeconds(9)))
        .addListener(new LockListener() {
          @Override
          public void uncertain(LeaseEvent event) {
            troubles.add("uncertain: " + event);
          }

          @Override
          public void lost(Lost event) {
            troubles.add("lost: " + event);
          }

          @Override
          public void renewed(LeaseEvent event) {
            renewals.incrementAndGet();
          }

          @Override
          public void released(Released event) {
            if (!event.confirmed()) {
              troubles.add("released, not confirmed: " + event);
            }
          }
        });
  }
}
