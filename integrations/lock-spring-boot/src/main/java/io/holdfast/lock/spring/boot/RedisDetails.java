package io.holdfast.lock.spring.boot;

import java.lang.reflect.Method;
import java.net.URI;
import java.net.URISyntaxException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails.Cluster;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails.Node;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails.Sentinel;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails.Standalone;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.util.ReflectionUtils;
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
  private static final String PREFIX = "spring.data.redis.";

  private final DataRedisConnectionDetails details;
  private final @Nullable String url;
  private final Duration timeout;

  /**
   * @param url the property {@code spring.data.redis.url}; null if it is not set
   * @param timeout the longest time that a connection may take to be opened, or to answer
   */
  RedisDetails(DataRedisConnectionDetails details, @Nullable String url, Duration timeout) {
    this.details = details;
    this.url = url;
    this.timeout = timeout;
  }

  @Override
  public UnifiedJedis connect() {
    Sentinel sentinel = details.getSentinel();
    Cluster cluster = details.getCluster();
    Standalone standalone = details.getStandalone();
    if (hasMasterReplica()) {
      throw new LockConfigurationException(
          "The locks are to be in Redis, and spring.data.redis.masterreplica.nodes does not say"
              + " which of its servers is the primary",
          "set holdfast.redis.uri to the address of the primary, or use spring.data.redis.sentinel");
    }
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

  @Override
  public String whenUnreachable() {
    String ofServers = PREFIX + "username, " + PREFIX + "password and " + PREFIX + "ssl.bundle";
    if (details.getSentinel() != null) {
      return "check " + PREFIX + "sentinel.master, " + PREFIX + "sentinel.nodes, " + PREFIX
          + "sentinel.username and " + PREFIX + "sentinel.password, and for the server that they"
          + " name " + ofServers;
    }
    if (details.getCluster() != null) {
      return "check " + PREFIX + "cluster.nodes, " + ofServers;
    }
    return "check " + PREFIX + "host, " + PREFIX + "port, " + ofServers + " (or " + PREFIX + "url)";
  }

  /**
   * Returns whether the details name a primary and its replicas without telling which is which:
   * Lettuce can find out, Jedis can't. Such details name a single server as well, which must not be
   * used. Spring Boot 4.0 has no such details.
   */
  private boolean hasMasterReplica() {
    Method method = ReflectionUtils.findMethod(details.getClass(), "getMasterReplica");
    return method != null
        && details.getSentinel() == null
        && details.getCluster() == null
        && ReflectionUtils.invokeMethod(accessible(method), details) != null;
  }

  /** Makes a method accessible: the class of the details need not be public. */
  private static Method accessible(Method method) {
    ReflectionUtils.makeAccessible(method);
    return method;
  }

  private DefaultJedisClientConfig.Builder ofServers() {
    return settings(details.getUsername(), details.getPassword());
  }

  private DefaultJedisClientConfig.Builder settings(
      @Nullable String user, @Nullable String password) {
    DefaultJedisClientConfig.Builder settings = JedisSettings.of(user, password, timeout);
    SslBundle ssl = details.getSslBundle();
    if (ssl != null) {
      return JedisSettings.secured(settings, ssl);
    }
    return isSecuredByUrl() ? JedisSettings.secured(settings) : settings;
  }

  /**
   * Returns whether the URL asks for TLS, and the details were made from that URL. Such details
   * have no bundle: Spring Boot's own clients look at the URL too.
   */
  private boolean isSecuredByUrl() {
    if (url == null || !url.startsWith("rediss:")) {
      return false;
    }
    Standalone standalone = details.getStandalone();
    if (standalone == null) {
      return false;
    }
    try {
      URI parsed = new URI(url);
      return Objects.equals(parsed.getHost(), standalone.getHost())
          && parsed.getPort() == standalone.getPort();
    } catch (URISyntaxException e) {
      // In doubt, no password goes out in the clear.
      return true;
    }
  }

  private static Set<HostAndPort> addresses(List<Node> nodes) {
    return nodes.stream()
        .map(node -> new HostAndPort(node.host(), node.port()))
        .collect(Collectors.toUnmodifiableSet());
  }
}
