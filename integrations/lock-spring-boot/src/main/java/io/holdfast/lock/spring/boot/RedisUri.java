package io.holdfast.lock.spring.boot;

import java.net.URI;
import java.time.Duration;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.util.JedisURIHelper;

/** The server that {@code holdfast.redis.uri} names. */
record RedisUri(String uri, Duration timeout) implements RedisServers {
  private static final String PROPERTY = "holdfast.redis.uri";

  @Override
  public UnifiedJedis connect() {
    URI parsed = parsed();
    DefaultJedisClientConfig.Builder settings = JedisSettings.of(
            JedisURIHelper.getUser(parsed), JedisURIHelper.getPassword(parsed), timeout)
        .database(Property.apply(PROPERTY, parsed, JedisURIHelper::getDBIndex));
    return RedisClient.builder()
        .hostAndPort(parsed.getHost(), parsed.getPort())
        .clientConfig(
            (JedisURIHelper.isRedisSSLScheme(parsed) ? JedisSettings.secured(settings) : settings)
                .build())
        .build();
  }

  @Override
  public String place() {
    URI parsed = parsed();
    return parsed.getHost() + ":" + parsed.getPort();
  }

  @Override
  public String whenUnreachable() {
    return "check " + PROPERTY;
  }

  /** Leaves out the address, which may have a password in it. */
  @Override
  public String toString() {
    return "RedisUri[timeout=" + timeout + "]";
  }

  private URI parsed() {
    URI parsed;
    try {
      parsed = URI.create(uri);
    } catch (IllegalArgumentException e) {
      // Without the cause, which has the text with the password in it.
      throw refused();
    }
    String scheme = String.valueOf(parsed.getScheme());
    if (!(scheme.equals("redis") || scheme.equals("rediss"))
        || parsed.getHost() == null
        || parsed.getPort() < 0) {
      throw refused();
    }
    String account = parsed.getUserInfo();
    if (account != null && !account.contains(":")) {
      throw new LockConfigurationException(
          "The property " + PROPERTY + " has a user or a password before the '@', and no ':' that"
              + " says which",
          "set " + PROPERTY + " to redis://:PASSWORD@HOST:PORT, or to"
              + " redis://USER:PASSWORD@HOST:PORT");
    }
    return parsed;
  }

  private static LockConfigurationException refused() {
    return new LockConfigurationException(
        "The property " + PROPERTY + " is no address of a Redis server",
        "set " + PROPERTY
            + " to redis://HOST:PORT or rediss://HOST:PORT, with USER:PASSWORD@ before"
            + " the host if they are needed");
  }
}
