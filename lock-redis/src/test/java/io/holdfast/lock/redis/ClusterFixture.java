package io.holdfast.lock.redis;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.tck.Capability;
import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.TappedBuilder;
import java.util.Set;
import java.util.function.UnaryOperator;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.RedisClusterClient;

/** A Cluster for the kit. */
final class ClusterFixture implements Fixture {
  private final ManyServers servers;
  private final RedisClusterClient redis;

  ClusterFixture(ManyServers servers) {
    this.servers = servers;
    this.redis = client(servers);
  }

  static RedisClusterClient client(ManyServers servers) {
    return client(servers, DefaultJedisClientConfig.builder());
  }

  static RedisClusterClient client(ManyServers servers, DefaultJedisClientConfig.Builder config) {
    return client(servers, config, RedisAccess.KIT_TIMEOUT_MILLIS);
  }

  static RedisClusterClient client(
      ManyServers servers, DefaultJedisClientConfig.Builder config, int timeoutMillis) {
    ConnectionPoolConfig pool = new ConnectionPoolConfig();
    pool.setMaxTotal(60);
    pool.setMaxIdle(60);
    return RedisClusterClient.builder()
        .nodes(Set.of(servers.address(0)))
        .poolConfig(pool)
        .clientConfig(config
            .connectionTimeoutMillis(timeoutMillis)
            .socketTimeoutMillis(timeoutMillis)
            .build())
        .build();
  }

  @Override
  public Set<Capability> capabilities() {
    return Set.of(
        Capability.TAP, Capability.LEFTOVERS, Capability.READ_WRITE, Capability.SEMAPHORES);
  }

  @Override
  public String whyNot(Capability missing) {
    return "shown on one server; what differs on a Cluster has tests of its own";
  }

  @Override
  public LockClientBuilder<?> newClient() {
    return RedisLocks.builder(redis);
  }

  @Override
  public LockClientBuilder<?> newClient(UnaryOperator<LockStore> tap) {
    return new TappedBuilder(RedisLocks.builder(redis)::openStore, tap);
  }

  @Override
  public java.util.Map<String, Long> leftovers() {
    long used = 0;
    long keys = 0;
    for (int i = 0; i < 3; i++) {
      try (redis.clients.jedis.RedisClient node = RedisAccess.client(servers.address(i), 1)) {
        keys += node.keys("holdfast:*").stream()
            .filter(key -> Stored.isTaken(node, key) || Stored.waiting(node, key) > 0)
            .count();
      }
    }
    for (org.apache.commons.pool2.impl.GenericObjectPool<Connection> pool :
        redis.getClusterNodes().values()) {
      used += pool.getNumActive();
    }
    return java.util.Map.of("names taken or waited for", keys, "connections in use", used);
  }

  @Override
  public void close() {
    redis.close();
    servers.close();
  }
}
