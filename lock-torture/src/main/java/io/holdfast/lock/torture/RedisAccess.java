package io.holdfast.lock.torture;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.redis.RedisGuard;
import io.holdfast.lock.redis.RedisLocks;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.HostAndPortMapper;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisSentinelClient;
import redis.clients.jedis.UnifiedJedis;

/** Redis as one store: a server, a primary behind a Sentinel, or a Cluster. Logs are lists. */
final class RedisAccess implements Access {
  static final String PRIMARY_NAME = "torture";

  private static final int POOL_SIZE = 8;
  private static final String APPEND = "return redis.call('RPUSH', KEYS[1], ARGV[1])";

  private final UnifiedJedis redis;
  private final LockClientBuilder<?> builder;

  private RedisAccess(UnifiedJedis redis, LockClientBuilder<?> builder) {
    this.redis = redis;
    this.builder = builder;
  }

  static RedisAccess one(Address server) {
    RedisClient redis = client(server);
    return new RedisAccess(redis, RedisLocks.builder(redis));
  }

  static RedisClient client(Address server) {
    return RedisClient.builder()
        .hostAndPort(hostAndPort(server))
        .poolConfig(pool())
        .clientConfig(config(address -> address))
        .build();
  }

  /** The last of the servers is the Sentinel. */
  static RedisAccess sentinel(List<Address> servers, List<Address> ways) {
    JedisClientConfig config = config(mapper(servers, ways));
    RedisSentinelClient redis = RedisSentinelClient.builder()
        .masterName(PRIMARY_NAME)
        .sentinels(Set.of(hostAndPort(servers.get(servers.size() - 1))))
        .poolConfig(pool())
        .clientConfig(config)
        .sentinelClientConfig(config)
        .build();
    return new RedisAccess(redis, RedisLocks.builder(redis));
  }

  static RedisAccess cluster(List<Address> servers, List<Address> ways) {
    RedisClusterClient redis = RedisClusterClient.builder()
        .nodes(Set.copyOf(servers.stream().map(RedisAccess::hostAndPort).toList()))
        .poolConfig(pool())
        .clientConfig(config(mapper(servers, ways)))
        .build();
    return new RedisAccess(redis, RedisLocks.builder(redis));
  }

  private static HostAndPort hostAndPort(Address address) {
    return new HostAndPort(address.host(), address.port());
  }

  private static ConnectionPoolConfig pool() {
    ConnectionPoolConfig pool = new ConnectionPoolConfig();
    pool.setMaxTotal(POOL_SIZE);
    pool.setMaxIdle(POOL_SIZE);
    return pool;
  }

  private static JedisClientConfig config(HostAndPortMapper mapper) {
    int timeoutMillis = (int) StoreKind.STORE_TIMEOUT.toMillis();
    return DefaultJedisClientConfig.builder()
        .connectionTimeoutMillis(timeoutMillis)
        .socketTimeoutMillis(timeoutMillis)
        .hostAndPortMapper(mapper)
        .build();
  }

  /** Maps the addresses that servers tell their clients to those by which these reach them. */
  private static HostAndPortMapper mapper(List<Address> servers, List<Address> ways) {
    Map<HostAndPort, HostAndPort> way = new HashMap<>();
    for (int i = 0; i < servers.size(); i++) {
      way.put(hostAndPort(servers.get(i)), hostAndPort(ways.get(i)));
    }
    return address -> way.getOrDefault(address, address);
  }

  @Override
  public LockClientBuilder<?> newClient() {
    return builder;
  }

  @Override
  public void write(Lease lease, String entry) {
    Object unused = RedisGuard.of(lease).eval(APPEND, List.of(key(lease.name())), List.of(entry));
  }

  @Override
  public boolean leavesOpen(Exception failure) {
    return failure instanceof LockStoreException;
  }

  @Override
  public List<String> written(String name) {
    return redis.lrange(key(name), 0, -1);
  }

  /** Returns the key of a log, in the lock's slot. */
  static String key(String name) {
    return "torture-log:{" + name + "}";
  }

  /** Runs a command on one server, and returns its reply. */
  static Object run(RedisClient server, Protocol.Command command, Object... arguments) {
    return server.executeCommand(new CommandArguments(command).addObjects(arguments));
  }

  /** Decodes a reply. */
  static String text(Object reply) {
    return new String((byte[]) reply, StandardCharsets.UTF_8);
  }

  @Override
  public void close() {
    redis.close();
  }
}
