package io.holdfast.lock.spring.integration;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.jdbc.JdbcLocks;
import io.holdfast.lock.jdbc.SchemaMode;
import io.holdfast.lock.redis.RedisLocks;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.testsupport.Image;
import io.holdfast.lock.testsupport.ServerContainer;
import java.time.Duration;
import java.util.stream.Stream;
import redis.clients.jedis.RedisClient;

/** The real servers of the tests, each started once per JVM, when first asked for. */
enum Server {
  POSTGRES {
    @Override
    ServerContainer container() {
      ServerContainer.assumeDocker();
      return Postgres.RUNNING;
    }

    @Override
    LockClient clientAt(FaultProxy proxy) {
      HikariDataSource pool = postgresPool(proxy.host(), proxy.port());
      proxy.onClose(pool);
      return build(JdbcLocks.builder(pool).schema(SchemaMode.CREATE));
    }
  },
  REDIS {
    @Override
    ServerContainer container() {
      ServerContainer.assumeDocker();
      return Redis.RUNNING;
    }

    @Override
    LockClient clientAt(FaultProxy proxy) {
      RedisClient redis =
          RedisClient.builder().hostAndPort(proxy.host(), proxy.port()).build();
      proxy.onClose(redis);
      return build(RedisLocks.builder(redis));
    }
  };

  static final Duration STORE_TIMEOUT = Duration.ofSeconds(1);

  /** Returns all servers with {@code -Dtest.all}, and one otherwise. */
  static Stream<Server> ofThisRun() {
    return System.getProperty("test.all") == null ? Stream.of(POSTGRES) : Stream.of(values());
  }

  abstract ServerContainer container();

  /** Returns a client behind a proxy, with a short store timeout. */
  abstract LockClient clientAt(FaultProxy proxy);

  FaultProxy proxy() {
    return container().openProxy();
  }

  static HikariDataSource postgresPool(String host, int port) {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl("jdbc:postgresql://" + host + ":" + port + "/holdfast");
    config.setUsername("postgres");
    config.setPassword(Image.PASSWORD);
    config.setMaximumPoolSize(4);
    config.setMinimumIdle(1);
    return new HikariDataSource(config);
  }

  private static LockClient build(LockClientBuilder<?> builder) {
    return builder.storeTimeout(STORE_TIMEOUT).build();
  }

  private static final class Postgres {
    static final ServerContainer RUNNING = ServerContainer.start(Image.POSTGRES);
  }

  private static final class Redis {
    static final ServerContainer RUNNING = ServerContainer.start(Image.REDIS);
  }
}
