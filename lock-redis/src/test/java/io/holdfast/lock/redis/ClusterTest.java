package io.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.redis.store.RedisStore;
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
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestMethodOrder;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.util.JedisClusterCRC16;

/** The differences on a Cluster. */
@Tag("nightly")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ClusterTest {
  /** The longest that it takes to open a connection to a server that does not answer. */
  private static final Duration OPENING_MAX = Duration.ofSeconds(5);

  private ManyServers servers;
  private RedisClusterClient redis;

  @BeforeAll
  void open() throws Exception {
    servers = ManyServers.cluster();
    redis = ClusterFixture.client(servers);
  }

  @AfterAll
  void close() {
    redis.close();
    servers.close();
  }

  private RedisStore store() throws Exception {
    return (RedisStore) open(redis);
  }

  /** Renews as the engine does: the grants of each group together. */
  private static List<Renewal> renewByGroup(LockStore store, List<Grant> grants)
      throws StoreException {
    Map<Object, List<Grant>> groups =
        grants.stream().collect(Collectors.groupingBy(store::renewalGroup));
    List<Renewal> renewals = new ArrayList<>();
    for (List<Grant> group : groups.values()) {
      renewals.addAll(store.renew(group));
    }
    return renewals;
  }

  @Test
  @Order(1)
  void leasesAreRenewedInOneGroupPerNode() throws Exception {
    try (RedisStore store = store()) {
      List<Grant> grants = new ArrayList<>();
      Set<Object> groups = new HashSet<>();
      for (int i = 0; i < 60; i++) {
        Grant grant = store.tryAcquire(Claims.claim(Claims.freshKey())).orElseThrow();
        grants.add(grant);
        groups.add(store.renewalGroup(grant));
      }
      assertThat(groups).hasSize(3);
      assertThat(renewByGroup(store, grants))
          .containsOnly(new Renewal.Renewed(Claims.TTL))
          .hasSize(60);
    }
  }

  @Test
  @Order(1)
  void aClientForOneServerThatLeadsToAClusterIsToldSo() {
    List<String> told = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      try (RedisClient one = RedisAccess.client(servers.address(i), 2)) {
        RedisLocks.builder(one).build().close();
      } catch (LockStoreException e) {
        told.add(e.getMessage());
      }
    }
    assertThat(told)
        .as("by the two that do not have the first key")
        .hasSize(2)
        .allMatch(message -> message.contains("as in a Cluster: use a client for a Cluster"));
  }

  @Test
  @Order(1)
  void theLocksOfAllPrimariesAreListedAndExtended() throws Exception {
    String fresh = Claims.freshKey().name() + "/{*}";
    try (RedisStore store = store()) {
      Set<String> names = new HashSet<>();
      Set<Object> groups = new HashSet<>();
      for (int i = 0; i < 60; i++) {
        Grant grant = store.tryAcquire(Claims.claim(Claims.key(fresh + i))).orElseThrow();
        names.add(grant.claim().key().name());
        groups.add(store.renewalGroup(grant));
        assertThat(store.extend(grant, Claims.TTL.multipliedBy(2)))
            .hasValue(Claims.TTL.multipliedBy(2));
      }
      assertThat(groups).hasSize(3);
      Stores.Waiter waiter = Stores.Waiter.join(store, Claims.key(fresh + 0));
      List<StoredLock> listed = store.list(LockKind.MUTEX, fresh, 10_000);
      assertThat(listed)
          .extracting(lock -> lock.key().name())
          .containsExactlyInAnyOrderElementsOf(names);
      assertThat(listed)
          .filteredOn(lock -> lock.waiting().equals(OptionalInt.of(1)))
          .extracting(StoredLock::key)
          .containsExactly(waiter.claim().key());
      assertThat(store.list(LockKind.MUTEX, fresh, 25)).hasSize(25).doesNotHaveDuplicates();
      // One that knows no slot yet.
      try (RedisStore other = store()) {
        assertThat(other.list(LockKind.MUTEX, fresh, 10_000)).hasSize(60);
      }
      waiter.ticket().close();
    }
  }

  @Test
  @Order(2)
  void aGuardedKeyMustBeInTheLocksSlot() throws Exception {
    try (LockClient locks = RedisLocks.builder(redis).build();
        Lease lease = locks.get("orders/42").lock()) {
      RedisGuard guard = RedisGuard.of(lease);
      guard.set("stock:{orders/42}", "99");
      assertThat(redis.get("stock:{orders/42}")).isEqualTo("99");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> guard.set("stock:42", "98"))
          .withMessageContaining("stock:42")
          .withMessageContaining("{orders/42}");
      assertThat(lease.isHeld()).isTrue();
    }
  }

  @Test
  @Order(3)
  void aSlotThatMovedIsFollowed() throws Exception {
    try (RedisStore store = store()) {
      Grant held = store.tryAcquire(Claims.claim(Claims.key("moved"))).orElseThrow();
      int slot = JedisClusterCRC16.getSlot("{moved}");
      List<String> ids = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        try (RedisClient node = RedisAccess.client(servers.address(i), 1)) {
          ids.add(new String(
              (byte[]) node.executeCommand(
                  new redis.clients.jedis.CommandArguments(Protocol.Command.CLUSTER).add("MYID")),
              java.nio.charset.StandardCharsets.US_ASCII));
        }
      }
      int from = ownerOf(slot);
      int to = (from + 1) % 3;
      String number = Integer.toString(slot);
      try (RedisClient source = RedisAccess.client(servers.address(from), 1);
          RedisClient target = RedisAccess.client(servers.address(to), 1)) {
        Stores.send(
            target, Protocol.Command.CLUSTER, "SETSLOT", number, "IMPORTING", ids.get(from));
        Stores.send(source, Protocol.Command.CLUSTER, "SETSLOT", number, "MIGRATING", ids.get(to));
        // What has not been there yet is asked for at the new node, while the slot is on its way.
        Stores.send(
            source,
            Protocol.Command.MIGRATE,
            servers.address(to).getHost(),
            Integer.toString(servers.address(to).getPort()),
            "",
            "0",
            "5000",
            "KEYS",
            Stored.keyOf(held.claim().key()));
        assertThat(store.verify(held)).isPresent();
        assertThat(store.list(LockKind.MUTEX, "moved", 10)).hasSize(1);
        Stores.send(target, Protocol.Command.CLUSTER, "SETSLOT", number, "NODE", ids.get(to));
        Stores.send(source, Protocol.Command.CLUSTER, "SETSLOT", number, "NODE", ids.get(to));
      }
      assertThat(store.list(LockKind.MUTEX, "moved", 10)).hasSize(1);
      // Before anything else has told it that the slot has moved.
      assertThat(store.renew(List.of(held))).containsExactly(new Renewal.Renewed(Claims.TTL));
    }
  }

  private int ownerOf(int slot) {
    try (redis.clients.jedis.Connection connection = redis.getConnectionFromSlot(slot)) {
      for (int i = 0; i < 3; i++) {
        if (servers.address(i).getPort() == connection.getHostAndPort().getPort()) {
          return i;
        }
      }
      throw new AssertionError("Nobody has slot " + slot);
    }
  }

  @Test
  @Order(4)
  void theLeastThatAUserMustBeAllowedIsEnough() throws Exception {
    for (int i = 0; i < 3; i++) {
      try (RedisClient node = RedisAccess.client(servers.address(i), 1)) {
        Stores.allow(node, "locks", "+cluster|slots +cluster|shards +asking");
      }
    }
    try (RedisClusterClient user = ClusterFixture.client(
            servers, DefaultJedisClientConfig.builder().user("locks").password("secret"));
        LockStore store = open(user)) {
      for (int i = 0; i < 10; i++) {
        LockKey key = Claims.freshKey();
        Grant held = store.tryAcquire(Claims.claim(key)).orElseThrow();
        Stores.Waiter waiter = Stores.Waiter.join(store, key);
        assertThat(store.renew(List.of(held))).containsExactly(new Renewal.Renewed(Claims.TTL));
        assertThat(store.extend(held, Claims.TTL)).isPresent();
        assertThat(store.list(LockKind.MUTEX, key.name(), 10)).hasSize(1);
        assertThat(store.release(held, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(store.release(waiter.awaitGrant(), Duration.ZERO))
            .isEqualTo(ReleaseOutcome.RELEASED);
      }
    }
  }

  @Test
  @Order(5)
  void addressesThatTheUserMapsAreTheOnesThatAreUsed() throws Exception {
    Set<HostAndPort> asked = ConcurrentHashMap.newKeySet();
    try (RedisClusterClient mapped = ClusterFixture.client(
            servers, DefaultJedisClientConfig.builder().hostAndPortMapper(address -> {
              asked.add(address);
              return new HostAndPort("localhost", address.getPort());
            }));
        LockStore store = open(mapped)) {
      List<Grant> grants = new ArrayList<>();
      Set<Object> groups = new HashSet<>();
      for (int i = 0; i < 30; i++) {
        Grant grant = store.tryAcquire(Claims.claim(Claims.freshKey())).orElseThrow();
        grants.add(grant);
        groups.add(store.renewalGroup(grant));
      }
      assertThat(asked).contains(servers.address(0), servers.address(1), servers.address(2));
      assertThat(groups).hasSize(3);
      assertThat(renewByGroup(store, grants)).containsOnly(new Renewal.Renewed(Claims.TTL));
    }
  }

  @Test
  @Order(6)
  void eachPrimaryIsAskedWhetherReplicasHaveAGrant() throws Exception {
    try (LockClient locks =
        RedisLocks.builder(redis).waitForReplicas(1, Duration.ofMillis(100)).build()) {
      for (int i = 0; i < 10; i++) {
        String name = Claims.freshKey().name();
        assertThatExceptionOfType(LockStoreException.class)
            .isThrownBy(() -> locks.get(name).tryLock())
            .withMessageContaining("0 of 1 replica");
        String key = Stored.keyOf(name);
        Await.until("nobody has it", () -> !Stored.isTaken(redis, key));
      }
    }
  }

  /** Even if Jedis asks every server for the slots, each for as long as an opening may take. */
  @Tag("each-jedis")
  @Test
  @Order(6)
  void aCallTakesNoLongerThanItsStoreTimeoutThoughNoServerAnswers() throws Throwable {
    Duration storeTimeout = Duration.ofSeconds(2);
    try (RedisClusterClient patient = ClusterFixture.client(
            servers, DefaultJedisClientConfig.builder(), (int) OPENING_MAX.toMillis());
        LockClient locks =
            RedisLocks.builder(patient).storeTimeout(storeTimeout).build()) {
      DistributedLock lock = locks.get(Claims.freshKey().name());
      lock.lock().close();
      servers.whilePaused(List.of(0, 1, 2), () -> {
        long beganNanos = System.nanoTime();
        assertThatExceptionOfType(LockStoreException.class).isThrownBy(lock::tryLock);
        assertThat(Duration.ofNanos(System.nanoTime() - beganNanos))
            .isLessThan(storeTimeout.plus(OPENING_MAX.dividedBy(2)));
      });
      lock.lock().close();
    }
  }

  private static LockStore open(RedisClusterClient client) throws Exception {
    return RedisLocks.builder(client).openStore(Stores.settings());
  }

  @Test
  @Order(7)
  void aDeadPrimaryCostsItsOwnLeasesAndNoOthers() throws Exception {
    try (LockClient locks = RedisLocks.builder(redis)
        .storeTimeout(Duration.ofSeconds(3))
        .defaultOptions(LockOptions.renewed(Duration.ofSeconds(10)))
        .build()) {
      List<Lease> dead = new ArrayList<>();
      List<Lease> alive = new ArrayList<>();
      for (int i = 0; dead.size() < 5 || alive.size() < 10; i++) {
        String name = "dead-or-alive/" + i;
        int owner = ownerOf(JedisClusterCRC16.getSlot("{" + name + "}"));
        (owner == 2 ? dead : alive).add(locks.get(name).lock());
      }
      servers.kill(2);
      Await.until(
          "those of the dead primary are lost", () -> dead.stream().noneMatch(Lease::isHeld));
      assertThatExceptionOfType(LockStoreException.class)
          .as("a list without those of the dead primary")
          .isThrownBy(() -> locks.list("dead-or-alive/", 10_000).size());
      Await.pause(Duration.ofSeconds(10));
      assertThat(alive).allMatch(Lease::isHeld);
    }
  }
}
