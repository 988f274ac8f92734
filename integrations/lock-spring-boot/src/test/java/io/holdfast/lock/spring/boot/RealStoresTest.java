package io.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.testsupport.Image;
import io.holdfast.lock.testsupport.ServerContainer;
import java.time.Duration;
import java.util.UUID;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryOneTime;
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
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.postgresql.PostgreSQLContainer;

/** Each store's real server, through the client that the application gets. */
@Timeout(300) // Servers are started in each test.
class RealStoresTest {
  private static final String PASSWORD = "holdfast";

  /** A server that has just been started on a busy machine may not answer within five seconds. */
  private static ApplicationContextRunner patient() {
    return Runners.plain().withPropertyValues("holdfast.store-timeout=20s", "holdfast.ttl=60s");
  }

  @BeforeEach
  void docker() {
    ServerContainer.assumeDocker();
  }

  @Test
  void postgresWithALazyDataSourceAndAWrongPassword() {
    try (ServerContainer server = ServerContainer.start(Image.POSTGRES)) {
      ApplicationContextRunner runner = patient()
          .withConfiguration(AutoConfigurations.of(DataSourceAutoConfiguration.class))
          .withPropertyValues(
              "holdfast.store=jdbc",
              "spring.datasource.connection-fetch=lazy",
              "spring.datasource.url=jdbc:postgresql://" + server.address() + "/" + Image.DATABASE,
              "spring.datasource.username=postgres");

      runner
          .withPropertyValues("spring.datasource.password=" + Image.PASSWORD)
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
    try (ServerContainer server = ServerContainer.start(Image.REDIS, "--requirepass", PASSWORD)) {
      String address = server.address();
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
    try (ServerContainer server = ServerContainer.start(Image.ZOOKEEPER)) {
      String servers = server.address();
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
    try (ServerContainer server = ServerContainer.start(Image.CONSUL)) {
      patient()
          .withPropertyValues(
              "holdfast.store=consul", "holdfast.consul.address=http://" + server.address())
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
