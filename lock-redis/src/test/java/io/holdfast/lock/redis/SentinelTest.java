package io.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestMethodOrder;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisSentinelClient;

/** A primary that Sentinels name, and its replica. */
@Tag("one-jdk")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class SentinelTest {
  private ManyServers servers;

  @BeforeAll
  void open() throws Exception {
    servers = ManyServers.sentinel(RedisContainer.REDIS);
  }

  @AfterAll
  void close() {
    if (servers != null) {
      servers.close();
    }
  }

  @Test
  @Order(1)
  void aGrantCountsOnceTheReplicaHasItAndNotWhenAnotherIsAskedForAsWell() throws Exception {
    try (RedisSentinelClient redis = client(servers);
        RedisClient one = RedisAccess.client(servers.address(0), 1);
        RedisClient other = RedisAccess.client(servers.address(1), 1)) {
      String name = Stores.freshKey().name();
      String key = Keys.of(RedisLocks.DEFAULT_PREFIX, Stores.key(name)).lock();
      Stores.await("a grant that both have", () -> {
        try (LockClient locks = waiting(redis, 1);
            Lease lease = locks.get(name).lock()) {
          String number = Long.toString(lease.token() >>> 10);
          assertThat(one.get(key)).contains(number);
          assertThat(other.get(key)).contains(number);
          return true;
        } catch (LockStoreException e) {
          // On a busy machine, a replica may be late.
          return false;
        }
      });
      try (LockClient locks = waiting(redis, 2)) {
        Stores.await("a grant is withdrawn", () -> {
          try {
            assertThat(locks.get(name).tryLock()).isEmpty();
            return false;
          } catch (LockStoreException e) {
            return e.getMessage().contains("1 of 2 replica(s)");
          }
        });
        Stores.await("nobody has it", () -> !one.exists(key));
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
  void afterAFailoverEverybodyGoesOnAndTokensRise() throws Exception {
    try (RedisSentinelClient redis = client(servers)) {
      AtomicBoolean stop = new AtomicBoolean();
      AtomicLong turns = new AtomicLong();
      AtomicLong lastToken = new AtomicLong();
      List<Future<Long>> contenders = new ArrayList<>();
      ExecutorService executor = Executors.newCachedThreadPool();
      String name = Stores.freshKey().name();
      for (int i = 0; i < 3; i++) {
        contenders.add(executor.submit(() -> contend(redis, name, stop, turns, lastToken)));
      }
      try {
        Stores.await("turns before the failover", () -> turns.get() > 50);
        String old = primary(redis);
        servers.kill(old.equals(servers.address(0).toString()) ? 0 : 1);
        Stores.await("another primary", () -> !primary(redis).equals(old));
        long after = turns.get();
        Stores.await("turns after the failover", () -> turns.get() > after + 50);
      } finally {
        stop.set(true);
      }
      for (Future<Long> contender : contenders) {
        assertThat(contender.get(Stores.PATIENCE.toSeconds(), TimeUnit.SECONDS)).isPositive();
      }
      executor.shutdown();
    }
  }

  private static long contend(
      RedisSentinelClient redis,
      String name,
      AtomicBoolean stop,
      AtomicLong turns,
      AtomicLong lastToken)
      throws InterruptedException {
    long own = 0;
    try (LockClient locks = RedisLocks.builder(redis)
        .storeTimeout(Duration.ofSeconds(1))
        .defaultOptions(LockOptions.renewed(Duration.ofSeconds(3)))
        .build()) {
      DistributedLock lock = locks.get(name);
      while (!stop.get()) {
        try (Lease lease = lock.lock()) {
          long before = lastToken.getAndSet(lease.token());
          // A holder from before the failover may still be there; its token is lower.
          if (lease.isHeld() && before >= lease.token()) {
            throw new AssertionError("Token " + lease.token() + " after " + before);
          }
          own++;
          turns.incrementAndGet();
        } catch (LockStoreException | LockLostException e) {
          TimeUnit.MILLISECONDS.sleep(50);
        }
      }
    }
    return own;
  }

  private static String primary(RedisSentinelClient redis) {
    return redis.getCurrentMaster().toString();
  }

  private static RedisSentinelClient client(ManyServers servers) {
    DefaultJedisClientConfig config = DefaultJedisClientConfig.builder()
        .connectionTimeoutMillis(RedisAccess.TIMEOUT_MILLIS)
        .socketTimeoutMillis(RedisAccess.TIMEOUT_MILLIS)
        .build();
    return RedisSentinelClient.builder()
        .masterName("locks")
        .sentinels(Set.of(servers.address(2)))
        .clientConfig(config)
        .sentinelClientConfig(config)
        .build();
  }
}
