package io.holdfast.lock.spring.boot;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails.Cluster;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails.Node;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails.Sentinel;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails.Standalone;
import org.springframework.boot.ssl.SslBundle;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisSentinelClient;
import redis.clients.jedis.UnifiedJedis;

/**
 * Spring Boot's connection details of Redis. They are there whatever driver the application uses;
 * the locks use Jedis, with connections of their own.
 */
final class RedisDetails implements RedisServers {
  private final DataRedisConnectionDetails details;
  private final Duration timeout;

  /** @param timeout the longest time that a connection may take to be opened, or to answer */
  RedisDetails(DataRedisConnectionDetails details, Duration timeout) {
    this.details = details;
    this.timeout = timeout;
  }

  @Override
  public UnifiedJedis connect() {
    Sentinel sentinel = details.getSentinel();
    Cluster cluster = details.getCluster();
    Standalone standalone = details.getStandalone();
    if (sentinel != null) {
      return RedisSentinelClient.builder()
          .masterName(sentinel.getMaster())
          .sentinels(addresses(sentinel.getNodes()))
          .sentinelClientConfig(
              settings(sentinel.getUsername(), sentinel.getPassword()).build())
          .clientConfig(ofServers().database(sentinel.getDatabase()).build())
          .build();
    }
    if (cluster != null) {
      return RedisClusterClient.builder()
          .nodes(addresses(cluster.getNodes()))
          .clientConfig(ofServers().build())
          .build();
    }
    if (standalone != null) {
      return RedisClient.builder()
          .hostAndPort(standalone.getHost(), standalone.getPort())
          .clientConfig(ofServers().database(standalone.getDatabase()).build())
          .build();
    }
    throw new LockConfigurationException(
        "The locks are to be in Redis, and Spring Boot's connection details name neither a server,"
            + " nor Sentinels, nor a Cluster",
        "set holdfast.redis.uri to the address of the primary");
  }

  @Override
  public String place() {
    Sentinel sentinel = details.getSentinel();
    Cluster cluster = details.getCluster();
    Standalone standalone = details.getStandalone();
    if (sentinel != null) {
      return "primary " + sentinel.getMaster() + " of the Sentinels "
          + addresses(sentinel.getNodes());
    }
    if (cluster != null) {
      return "Cluster " + addresses(cluster.getNodes());
    }
    return standalone == null
        ? "nowhere"
        : standalone.getHost() + ":" + standalone.getPort() + ", database "
            + standalone.getDatabase();
  }

  private DefaultJedisClientConfig.Builder ofServers() {
    return settings(details.getUsername(), details.getPassword());
  }

  private DefaultJedisClientConfig.Builder settings(
      @Nullable String user, @Nullable String password) {
    DefaultJedisClientConfig.Builder settings = JedisSettings.of(user, password, timeout);
    SslBundle ssl = details.getSslBundle();
    return ssl == null ? settings : JedisSettings.secured(settings, ssl);
  }

  private static Set<HostAndPort> addresses(List<Node> nodes) {
    return nodes.stream()
        .map(node -> new HostAndPort(node.host(), node.port()))
        .collect(Collectors.toUnmodifiableSet());
  }
}
