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
import org.junit.jupiter.api.Test;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.RedisSentinelClient;

/** A primary dies in the middle of contention. */
class SentinelTest {

  @Test
  void afterAFailoverEverybodyGoesOnAndTokensRise() throws Exception {
    try (ManyServers servers = ManyServers.sentinel(RedisContainer.REDIS);
        RedisSentinelClient redis = client(servers)) {
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
        servers.kill(0);
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
