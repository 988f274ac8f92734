package io.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.util.List;
import java.util.Set;
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
import redis.clients.jedis.RedisSentinelClient;

/** A primary that Sentinels name, and its replica. */
@Tag("nightly")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class SentinelTest {
  /** The longest that it takes to open a connection to a server that does not answer. */
  private static final Duration OPENING_MAX = Duration.ofSeconds(5);

  private static final Duration FAILOVER_MAX = Duration.ofSeconds(40);

  private ManyServers servers;

  @BeforeAll
  void open() throws Exception {
    servers = ManyServers.sentinel();
  }

  @AfterAll
  void close() {
    if (servers != null) {
      servers.close();
    }
  }

  @Tag("each-jedis")
  @Test
  @Order(1)
  void aGrantCountsOnceTheReplicaHasItAndNotWhenAnotherIsAskedForAsWell() throws Exception {
    try (RedisSentinelClient redis = client(servers);
        RedisClient one = RedisAccess.client(servers.address(0), 1);
        RedisClient other = RedisAccess.client(servers.address(1), 1)) {
      String name = Claims.freshKey().name();
      String key = Stored.keyOf(name);
      Await.until("a grant that both have", () -> {
        try (LockClient locks = waiting(redis, 1);
            Lease lease = locks.get(name).lock()) {
          String number = Long.toString(lease.token() >>> 10);
          assertThat(Stored.grant(one, key)).contains(number);
          assertThat(Stored.grant(other, key)).contains(number);
          return true;
        } catch (LockStoreException e) {
          // On a busy machine, a replica may be late.
          return false;
        }
      });
      try (LockClient locks = waiting(redis, 2)) {
        Await.until("a grant is withdrawn", () -> {
          try {
            assertThat(locks.get(name).tryLock()).isEmpty();
            return false;
          } catch (LockStoreException e) {
            return e.getMessage().contains("1 of 2 replica(s)");
          }
        });
        Await.until("nobody has it", () -> !Stored.isTaken(one, key));
      }
    }
  }

  private static LockClient waiting(RedisSentinelClient redis, int replicas) {
    return RedisLocks.builder(redis)
        .waitForReplicas(replicas, Duration.ofSeconds(replicas == 1 ? 2 : 1))
        .build();
  }

  /** The primary dies in the middle of contention. */
  @Test
  @Order(2)
  @Timeout(120)
  void afterAFailoverEverybodyGoesOnAndTokensRise() throws Exception {
    try (RedisSentinelClient redis = client(servers);
        Contenders contenders =
            new Contenders(3, Claims.freshKey().name(), () -> RedisLocks.builder(redis))) {
      contenders.awaitTurns("before the failover");
      String old = primary(redis);
      servers.kill(index(old));
      Await.until("another primary", FAILOVER_MAX, () -> !primary(redis).equals(old));
      contenders.awaitTurns("after the failover");
      contenders.stop();
    }
  }

  /** No caller asks a Sentinel. The last test, since a Sentinel that was paused rests. */
  @Tag("each-jedis")
  @Test
  @Order(3)
  void aCallTakesNoLongerThanItsStoreTimeoutThoughNoServerAnswers() throws Throwable {
    Duration storeTimeout = Duration.ofSeconds(2);
    try (RedisSentinelClient patient = client(servers, (int) OPENING_MAX.toMillis());
        LockClient locks =
            RedisLocks.builder(patient).storeTimeout(storeTimeout).build()) {
      DistributedLock lock = locks.get(Claims.freshKey().name());
      lock.lock().close();
      servers.whilePaused(List.of(index(primary(patient)), 2), () -> {
        long beganNanos = System.nanoTime();
        assertThatExceptionOfType(LockStoreException.class).isThrownBy(lock::tryLock);
        assertThat(Duration.ofNanos(System.nanoTime() - beganNanos))
            .isLessThan(storeTimeout.plus(OPENING_MAX.dividedBy(2)));
      });
      lock.lock().close();
    }
  }

  private static String primary(RedisSentinelClient redis) {
    return redis.getCurrentMaster().toString();
  }

  private int index(String address) {
    return address.equals(servers.address(0).toString()) ? 0 : 1;
  }

  private static RedisSentinelClient client(ManyServers servers) {
    return client(servers, RedisAccess.KIT_TIMEOUT_MILLIS);
  }

  private static RedisSentinelClient client(ManyServers servers, int timeoutMillis) {
    DefaultJedisClientConfig config = DefaultJedisClientConfig.builder()
        .connectionTimeoutMillis(timeoutMillis)
        .socketTimeoutMillis(timeoutMillis)
        .build();
    return RedisSentinelClient.builder()
        .masterName("locks")
        .sentinels(Set.of(servers.address(2)))
        .clientConfig(config)
        .sentinelClientConfig(config)
        .build();
  }
}
