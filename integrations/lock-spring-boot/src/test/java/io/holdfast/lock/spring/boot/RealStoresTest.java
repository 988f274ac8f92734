package io.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.testcontainers.lifecycle.TestcontainersLifecycleApplicationContextInitializer;
import org.springframework.boot.testcontainers.service.connection.ServiceConnection;
import org.springframework.boot.testcontainers.service.connection.ServiceConnectionAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.postgresql.PostgreSQLContainer;

/** Each store's real server, through the client that the application gets. */
@Timeout(300) // Servers are started in each test.
class RealStoresTest {
  private static final Duration STARTUP_MAX = Duration.ofMinutes(2);
  private static final String PASSWORD = "holdfast";

  /** A server that has just been started on a busy machine may not answer within five seconds. */
  private static ApplicationContextRunner patient() {
    return Runners.plain().withPropertyValues("holdfast.store-timeout=20s", "holdfast.ttl=60s");
  }

  @BeforeEach
  void docker() {
    Assumptions.assumeTrue(
        "true".equals(System.getenv("CI")) || DockerClientFactory.instance().isDockerAvailable(),
        "Docker is not available: dev/containers up");
  }

  @Test
  void postgresWithALazyDataSourceAndAWrongPassword() {
    try (GenericContainer<?> server = new GenericContainer<>("postgres:17")
        .withEnv(Map.of("POSTGRES_PASSWORD", PASSWORD))
        .withExposedPorts(5432)
        .waitingFor(Wait.forLogMessage(".*ready to accept connections.*", 2)
            .withStartupTimeout(STARTUP_MAX))) {
      server.start();
      ApplicationContextRunner runner = patient()
          .withConfiguration(AutoConfigurations.of(DataSourceAutoConfiguration.class))
          .withPropertyValues(
              "holdfast.store=jdbc",
              "spring.datasource.connection-fetch=lazy",
              "spring.datasource.url=jdbc:postgresql://" + server.getHost() + ":"
                  + server.getMappedPort(5432) + "/postgres",
              "spring.datasource.username=postgres");

      runner
          .withPropertyValues("spring.datasource.password=" + PASSWORD)
          .run(RealStoresTest::excludesTheOther);
      runner
          .withPropertyValues("spring.datasource.password=wrong")
          .run(context -> assertThat(context)
              .getFailure()
              .cause()
              .cause()
              .isInstanceOf(LockConfigurationException.class)
              .hasMessageContaining("spring.datasource.password"));
    }
  }

  @Test
  @Tag("nightly")
  void redisWithAPasswordInAnApplicationThatUsesLettuce() {
    try (GenericContainer<?> server = new GenericContainer<>("redis:8.0")
        .withCommand("--requirepass", PASSWORD)
        .withExposedPorts(6379)
        .waitingFor(Wait.forLogMessage(".*Ready to accept connections.*", 1)
            .withStartupTimeout(STARTUP_MAX))) {
      server.start();
      String address = server.getHost() + ":" + server.getMappedPort(6379);
      ApplicationContextRunner runner = patient()
          .withConfiguration(AutoConfigurations.of(DataRedisAutoConfiguration.class))
          .withPropertyValues("holdfast.store=redis");

      runner
          .withPropertyValues("spring.data.redis.url=redis://:" + PASSWORD + "@" + address)
          .run(context -> {
            assertThat(context.getBean(RedisConnectionFactory.class))
                .isInstanceOf(LettuceConnectionFactory.class);
            excludesTheOther(context);
          });
      runner
          .withPropertyValues("spring.data.redis.url=redis://:wrong@" + address)
          .run(context -> assertThat(context)
              .getFailure()
              .cause()
              .cause()
              .isInstanceOf(LockConfigurationException.class)
              .hasMessageContaining("spring.data.redis.password"));
      runner
          .withPropertyValues("holdfast.redis.uri=redis://:" + PASSWORD + "@" + address)
          .run(RealStoresTest::excludesTheOther);
    }
  }

  @Test
  @Tag("nightly")
  void zookeeperByConnectStringAndByTheApplicationsFramework() {
    try (GenericContainer<?> server = new GenericContainer<>("zookeeper:3.9")
        .withExposedPorts(2181)
        .waitingFor(Wait.forListeningPort().withStartupTimeout(STARTUP_MAX))) {
      server.start();
      String servers = server.getHost() + ":" + server.getMappedPort(2181);
      ApplicationContextRunner runner = patient().withPropertyValues("holdfast.store=zookeeper");

      runner
          .withPropertyValues("holdfast.zookeeper.connect-string=" + servers)
          .run(RealStoresTest::excludesTheOther);
      runner
          .withBean(CuratorFramework.class, () -> {
            CuratorFramework framework =
                CuratorFrameworkFactory.newClient(servers, new RetryOneTime(100));
            framework.start();
            return framework;
          })
          .run(RealStoresTest::excludesTheOther);
    }
  }

  @Test
  @Tag("nightly")
  void consulByItsAddress() {
    try (GenericContainer<?> server = new GenericContainer<>("consul:1.8")
        .withCommand(
            "agent", "-server", "-bootstrap-expect=1", "-client=0.0.0.0", "-bind=127.0.0.1")
        .withExposedPorts(8500)
        .waitingFor(Wait.forLogMessage(".*cluster leadership acquired.*", 1)
            .withStartupTimeout(STARTUP_MAX))) {
      server.start();
      patient()
          .withPropertyValues(
              "holdfast.store=consul",
              "holdfast.consul.address=http://" + server.getHost() + ":"
                  + server.getMappedPort(8500))
          .run(RealStoresTest::excludesTheOther);
    }
  }

  @Test
  @Tag("nightly")
  void serviceConnectionsSayWhereZooKeeperAndConsulAre() {
    ApplicationContextRunner runner = ofContainers()
        .withConfiguration(AutoConfigurations.of(ServiceConnectionAutoConfiguration.class));

    runner
        .withUserConfiguration(ZooKeeperConnection.class)
        .withPropertyValues("holdfast.store=zookeeper", "holdfast.zookeeper.connect-string=none:1")
        .run(RealStoresTest::excludesTheOther);
    runner
        .withUserConfiguration(ConsulConnection.class)
        .withPropertyValues("holdfast.store=consul")
        .run(RealStoresTest::excludesTheOther);
  }

  @Configuration(proxyBeanMethods = false)
  static class ZooKeeperConnection {
    @Bean
    @ServiceConnection(name = "zookeeper")
    GenericContainer<?> zookeeper() {
      return new GenericContainer<>("zookeeper:3.9").withExposedPorts(2181);
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class ConsulConnection {
    // tag::boot-consul-container[]
    @Bean
    @ServiceConnection(name = "consul")
    GenericContainer<?> consul() {
      return new GenericContainer<>("consul:1.8")
          .withCommand("agent", "-dev", "-client=0.0.0.0")
          .withExposedPorts(8500)
          .waitingFor(Wait.forLogMessage(".*cluster leadership acquired.*", 1));
    }
    // end::boot-consul-container[]
  }

  @Test
  void serviceConnectionsOfTestcontainersSayWhereTheStoreIs() {
    ApplicationContextRunner runner = ofContainers()
        .withConfiguration(AutoConfigurations.of(
            ServiceConnectionAutoConfiguration.class,
            DataSourceAutoConfiguration.class,
            DataRedisAutoConfiguration.class));

    runner
        .withUserConfiguration(PostgresConnection.class)
        .withPropertyValues("holdfast.store=jdbc")
        .run(RealStoresTest::excludesTheOther);
    runner
        .withUserConfiguration(RedisConnection.class)
        .withPropertyValues("holdfast.store=redis", "spring.data.redis.port=1")
        .run(RealStoresTest::excludesTheOther);
  }

  /** Containers that are beans, and are started with the application. */
  private static ApplicationContextRunner ofContainers() {
    return patient().withInitializer(new TestcontainersLifecycleApplicationContextInitializer());
  }

  @Configuration(proxyBeanMethods = false)
  static class PostgresConnection {
    @Bean
    @ServiceConnection
    PostgreSQLContainer postgres() {
      return new PostgreSQLContainer("postgres:17");
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class RedisConnection {
    @Bean
    @ServiceConnection(name = "redis")
    GenericContainer<?> redis() {
      return new GenericContainer<>("redis:8.0").withExposedPorts(6379);
    }
  }

  /** A lock of the client is held at the store, and free once it is released. */
  static void excludesTheOther(AssertableApplicationContext context) throws InterruptedException {
    assertThat(context).hasNotFailed();
    LockClient locks = context.getBean(LockClient.class);
    StoreSource store = context.getBean(StoreSource.class);
    String name = "orders/" + UUID.randomUUID();
    try (LockClient other = store.builder().build()) {
      try (Lease lease = locks.get(name).tryLock().orElseThrow()) {
        assertThat(lease.isHeld()).isTrue();
        assertThat(other.get(name).tryLock()).isEmpty();
      }
      try (Lease lease = other.get(name).tryLock(Duration.ofSeconds(20)).orElseThrow()) {
        assertThat(lease.isHeld()).isTrue();
      }
    }
  }
}
