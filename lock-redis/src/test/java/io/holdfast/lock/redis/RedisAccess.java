package io.holdfast.lock.redis;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.tck.GuardedWrites;
import io.holdfast.lock.tck.StoreAccess;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;

/** A way to one server: one client of Jedis, shared by the lock clients of this access. */
class RedisAccess implements StoreAccess {
  /** Jedis' default. */
  static final int KIT_TIMEOUT_MILLIS = 2_000;

  private final RedisClient redis;
  private final GuardedWrites guardedWrites;

  RedisAccess(HostAndPort address, int poolSize) {
    redis = kitClient(address, poolSize);
    guardedWrites = new RedisGuardedWrites(redis);
  }

  static RedisClient kitClient(HostAndPort address, int poolSize) {
    return client(address, poolSize, DefaultJedisClientConfig.builder(), KIT_TIMEOUT_MILLIS);
  }

  static RedisClient client(HostAndPort address, int poolSize) {
    return client(address, poolSize, DefaultJedisClientConfig.builder());
  }

  static RedisClient client(
      HostAndPort address, int poolSize, DefaultJedisClientConfig.Builder config) {
    return client(address, poolSize, config, (int) Stores.STORE_TIMEOUT.toMillis());
  }

  private static RedisClient client(
      HostAndPort address,
      int poolSize,
      DefaultJedisClientConfig.Builder config,
      int timeoutMillis) {
    ConnectionPoolConfig pool = new ConnectionPoolConfig();
    pool.setMaxTotal(poolSize);
    pool.setMaxIdle(poolSize);
    return RedisClient.builder()
        .hostAndPort(address)
        .poolConfig(pool)
        .clientConfig(config
            .connectionTimeoutMillis(timeoutMillis)
            .socketTimeoutMillis(timeoutMillis)
            .build())
        .build();
  }

  RedisClient redis() {
    return redis;
  }

  @Override
  public LockClientBuilder<?> newClient() {
    return RedisLocks.builder(redis);
  }

  @Override
  public GuardedWrites guardedWrites() {
    return guardedWrites;
  }

  @Override
  public void close() {
    redis.close();
  }
}
