package io.holdfast.lock.spring.boot;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.redis.RedisLocks;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisSentinelClient;
import redis.clients.jedis.UnifiedJedis;

/**
 * Redis, through a Jedis client.
 *
 * @param own whether the client was made for the locks, and is to be closed with them
 */
record RedisSource(
    UnifiedJedis client,
    boolean own,
    String where,
    String whenUnreachable,
    HoldfastProperties.Redis properties)
    implements StoreSource, AutoCloseable {

  @Override
  public StoreKind kind() {
    return StoreKind.REDIS;
  }

  @Override
  public LockClientBuilder<?> builder() {
    RedisLocks.Builder builder =
        Property.apply("holdfast.redis.prefix", properties.prefix(), ofClient()::prefix);
    return Property.apply(
        "holdfast.redis.keep-numbers-for", properties.keepNumbersFor(), builder::keepNumbersFor);
  }

  private RedisLocks.Builder ofClient() {
    if (client instanceof RedisSentinelClient sentinel) {
      return RedisLocks.builder(sentinel);
    }
    if (client instanceof RedisClusterClient cluster) {
      return RedisLocks.builder(cluster);
    }
    return RedisLocks.builder((RedisClient) client);
  }

  @Override
  public String place() {
    return "redis (" + where + ", prefix " + properties.prefix() + ")";
  }

  @Override
  public String whenUnusable() {
    return "use a server of version 7.0 or later, and set the version of Jedis in your build"
        + " (jedis.version) to one that Holdfast works with";
  }

  @Override
  public void close() {
    if (own) {
      client.close();
    }
  }
}
