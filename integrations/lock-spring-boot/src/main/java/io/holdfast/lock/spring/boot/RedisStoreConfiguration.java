package io.holdfast.lock.spring.boot;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisSentinelClient;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.exceptions.JedisException;

/** Locks in Redis: on a Jedis client of the application, or on one that is made for them. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnStore(StoreKind.REDIS)
@ConditionalOnClass({RedisClient.class, RedisSentinelClient.class, RedisClusterClient.class})
class RedisStoreConfiguration {
  private static final List<Class<? extends UnifiedJedis>> TYPES =
      List.of(RedisClient.class, RedisSentinelClient.class, RedisClusterClient.class);

  @Bean(LockAutoConfiguration.STORE)
  RedisSource holdfastStore(
      HoldfastProperties properties,
      ObjectProvider<RedisServers> servers,
      ConfigurableListableBeanFactory beans) {
    HoldfastProperties.Redis redis = properties.redis();
    String uri = redis.uri();
    if (uri != null) {
      return connect(new RedisUri(uri, properties.storeTimeout()), redis);
    }
    Found<? extends UnifiedJedis> client = client(beans);
    if (client != null) {
      String bean = client.described();
      return new RedisSource(client.bean(), false, bean, "check the " + bean, redis);
    }
    RedisServers configured = servers.getIfAvailable();
    if (configured == null) {
      throw new LockConfigurationException(
          "The locks are to be in Redis, and the application does not say where that is",
          "set holdfast.redis.uri, or spring.data.redis.host with Spring Data Redis on the class"
              + " path");
    }
    return connect(configured, redis);
  }

  /** Returns the application's Jedis client, if it has one. */
  private static @Nullable Found<? extends UnifiedJedis> client(
      ConfigurableListableBeanFactory beans) {
    List<String> names = TYPES.stream()
        .flatMap(type -> Stream.of(beans.getBeanNamesForType(type)))
        .toList();
    if (names.isEmpty()) {
      return null;
    }
    List<? extends Found<? extends UnifiedJedis>> found = TYPES.stream()
        .map(type -> Found.only(type, beans))
        .filter(Objects::nonNull)
        .toList();
    if (found.size() != 1) {
      throw new LockConfigurationException(
          "The locks are to be in Redis, and the application has several Jedis clients: "
              + String.join(", ", names),
          "set holdfast.redis.uri, or have only one bean of the types RedisClient,"
              + " RedisSentinelClient and RedisClusterClient that can be injected");
    }
    return found.get(0);
  }

  private static RedisSource connect(RedisServers servers, HoldfastProperties.Redis properties) {
    try {
      return new RedisSource(
          servers.connect(), true, servers.place(), servers.whenUnreachable(), properties);
    } catch (JedisException e) {
      throw new LockConfigurationException(
          "The locks are to be in Redis (" + servers.place() + "), which can't be used: "
              + Property.message(e),
          servers.whenUnreachable(),
          e);
    }
  }

  /** Spring Boot's own connection details of Redis, if Spring Data Redis is there. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(DataRedisConnectionDetails.class)
  static class Details {
    private static final String URL = "spring.data.redis.url";

    @Bean
    @Nullable
    RedisServers holdfastRedisServers(
        HoldfastProperties properties,
        ObjectProvider<DataRedisConnectionDetails> details,
        Environment environment) {
      DataRedisConnectionDetails found = details.getIfAvailable();
      String url = Binder.get(environment).bind(URL, String.class).orElse(null);
      Duration timeout = properties.storeTimeout();
      return found == null ? null : new RedisDetails(found, url, timeout);
    }
  }
}
