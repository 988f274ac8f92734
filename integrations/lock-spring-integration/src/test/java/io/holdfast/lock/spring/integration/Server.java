package io.holdfast.lock.spring.integration;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.jdbc.JdbcLocks;
import io.holdfast.lock.jdbc.SchemaMode;
import io.holdfast.lock.redis.RedisLocks;
import io.holdfast.lock.tck.fault.FaultProxy;
import java.time.Duration;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import redis.clients.jedis.RedisClient;

/** The real servers of the tests, each started once per JVM, when first asked for. */
enum Server {
  POSTGRES {
    @Override
    GenericContainer<?> container() {
      return PostgresContainer.RUNNING;
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
    GenericContainer<?> container() {
      return RedisContainer.RUNNING;
    }

    @Override
    LockClient clientAt(FaultProxy proxy) {
      RedisClient redis =
          RedisClient.builder().hostAndPort(proxy.host(), proxy.port()).build();
      proxy.onClose(redis);
      return build(RedisLocks.builder(redis));
    }
  };

  private static final String PASSWORD = "holdfast";
  static final Duration STORE_TIMEOUT = Duration.ofSeconds(1);

  /** Returns all servers with {@code -Dtest.all}, and one otherwise. */
  static Stream<Server> ofThisRun() {
    return System.getProperty("test.all") == null ? Stream.of(POSTGRES) : Stream.of(values());
  }

  abstract GenericContainer<?> container();

  /** Returns a client behind a proxy, with a short store timeout. */
  abstract LockClient clientAt(FaultProxy proxy);

  FaultProxy proxy() {
    return FaultProxy.open(container().getHost(), container().getFirstMappedPort());
  }

  static HikariDataSource postgresPool(String host, int port) {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl("jdbc:postgresql://" + host + ":" + port + "/holdfast");
    config.setUsername("postgres");
    config.setPassword(PASSWORD);
    config.setMaximumPoolSize(4);
    config.setMinimumIdle(1);
    return new HikariDataSource(config);
  }

  private static LockClient build(LockClientBuilder<?> builder) {
    return builder.storeTimeout(STORE_TIMEOUT).build();
  }

  private static GenericContainer<?> start(GenericContainer<?> container, String ready, int times) {
    Assumptions.assumeTrue(
        "true".equals(System.getenv("CI")) || DockerClientFactory.instance().isDockerAvailable(),
        "Docker is not available: dev/containers up");
    container.waitingFor(
        Wait.forLogMessage(ready, times).withStartupTimeout(Duration.ofMinutes(2)));
    container.start(); // Ends with the JVM.
    return container;
  }

  private static final class PostgresContainer {
    // The first line is of the server that makes the accounts.
    static final GenericContainer<?> RUNNING = start(
        new GenericContainer<>("postgres:17")
            .withExposedPorts(5432)
            .withEnv(Map.of("POSTGRES_PASSWORD", PASSWORD, "POSTGRES_DB", "holdfast")),
        ".*ready to accept connections.*",
        2);
  }

  private static final class RedisContainer {
    static final GenericContainer<?> RUNNING = start(
        new GenericContainer<>("redis:8.0").withExposedPorts(6379),
        ".*Ready to accept connections.*",
        1);
  }
}
