package io.holdfast.lock.shedlock;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.consul.ConsulLocks;
import io.holdfast.lock.jdbc.JdbcLocks;
import io.holdfast.lock.jdbc.SchemaMode;
import io.holdfast.lock.redis.RedisLocks;
import io.holdfast.lock.zookeeper.ZooKeeperLocks;
import java.net.URI;
import java.time.Duration;
import java.util.Map;
import javax.sql.DataSource;
import okhttp3.OkHttpClient;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryForever;
import org.junit.jupiter.api.Assumptions;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.containers.wait.strategy.WaitStrategy;
import redis.clients.jedis.RedisClient;

/** A real store, with a client as an application has one, and another that observes its locks. */
final class TestStore implements AutoCloseable {
  private static final Duration STARTUP_MAX = Duration.ofMinutes(2);
  private static final String PASSWORD = "holdfast";

  private final LockClient client;
  private final LockClient observer;
  private final Runnable[] closeBelow;

  private TestStore(LockClientBuilder<?> builder, Runnable... closeBelow) {
    this.client = builder.build();
    this.observer = builder.build();
    this.closeBelow = closeBelow;
    Await.within(STARTUP_MAX, "the store answers", this::answers);
  }

  LockClient client() {
    return client;
  }

  boolean isTaken(String lockName) {
    return observer.get(lockName).inspect().isPresent();
  }

  private boolean answers() {
    try {
      client.get("ready").tryLock().ifPresent(Lease::close);
      return true;
    } catch (LockStoreException e) {
      return false;
    }
  }

  @Override
  public void close() {
    client.close();
    observer.close();
    for (Runnable close : closeBelow) {
      close.run();
    }
  }

  static TestStore h2() {
    HikariDataSource pool = h2Pool("suite");
    return new TestStore(builder(pool), pool::close);
  }

  /** A database in this process, with this name. */
  static HikariDataSource h2Pool(String name) {
    return pool("jdbc:h2:mem:" + name + ";DB_CLOSE_DELAY=-1", "sa");
  }

  static TestStore postgres() {
    GenericContainer<?> server = postgresServer();
    HikariDataSource pool = postgresPool(postgresUrl(server));
    return new TestStore(builder(pool), pool::close, server::close);
  }

  static HikariDataSource postgresPool(String url) {
    return pool(url, "postgres");
  }

  static String postgresUrl(GenericContainer<?> server) {
    return "jdbc:postgresql://" + address(server, 5432) + "/holdfast";
  }

  static GenericContainer<?> postgresServer() {
    return start(
        "postgres:17",
        5432,
        // The entry point runs a server without a port first.
        Wait.forLogMessage(".*database system is ready to accept connections.*", 2),
        Map.of("POSTGRES_PASSWORD", PASSWORD, "POSTGRES_DB", "holdfast"),
        "-c",
        "synchronous_commit=off");
  }

  static TestStore mySql() {
    GenericContainer<?> server = start(
        "mysql:9",
        3306,
        Wait.forLogMessage(".*ready for connections.*port: 3306.*", 1),
        Map.of("MYSQL_ROOT_PASSWORD", PASSWORD, "MYSQL_DATABASE", "holdfast"),
        "--innodb-flush-log-at-trx-commit=2",
        "--sync-binlog=0");
    HikariDataSource pool = pool(
        "jdbc:mysql://" + address(server, 3306)
            + "/holdfast?sslMode=DISABLED&allowPublicKeyRetrieval=true",
        "root");
    return new TestStore(builder(pool), pool::close, server::close);
  }

  static TestStore redis() {
    GenericContainer<?> server = start(
        "redis:8.0", 6379, Wait.forLogMessage(".*Ready to accept connections.*", 1), Map.of());
    RedisClient redis = RedisClient.create(URI.create("redis://" + address(server, 6379)));
    return new TestStore(RedisLocks.builder(redis), redis::close, server::close);
  }

  static TestStore zooKeeper() {
    GenericContainer<?> server =
        start("zookeeper:3.9", 2181, Wait.forListeningPort(), Map.of("ZOO_MAX_CLIENT_CNXNS", "0"));
    CuratorFramework curator =
        CuratorFrameworkFactory.newClient(address(server, 2181), new RetryForever(100));
    curator.start();
    return new TestStore(ZooKeeperLocks.builder(curator), curator::close, server::close);
  }

  static TestStore consul() {
    GenericContainer<?> server = start(
        "consul:1.8",
        8500,
        Wait.forLogMessage(".*cluster leadership acquired.*", 1),
        Map.of(),
        "agent",
        "-server",
        "-bootstrap-expect=1",
        "-client=0.0.0.0",
        "-bind=127.0.0.1",
        "-hcl=performance { raft_multiplier = 1 }",
        "-hcl=limits { http_max_conns_per_client = 2000 }");
    return new TestStore(
        ConsulLocks.builder(new OkHttpClient(), "http://" + address(server, 8500)), server::close);
  }

  static LockClientBuilder<?> builder(DataSource pool) {
    return JdbcLocks.builder(pool).schema(SchemaMode.CREATE);
  }

  private static HikariDataSource pool(String url, String user) {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(url);
    config.setUsername(user);
    config.setPassword(PASSWORD);
    return new HikariDataSource(config);
  }

  private static String address(GenericContainer<?> server, int port) {
    return server.getHost() + ":" + server.getMappedPort(port);
  }

  private static GenericContainer<?> start(
      String image,
      int port,
      WaitStrategy ready,
      Map<String, String> environment,
      String... command) {
    Assumptions.assumeTrue(
        "true".equals(System.getenv("CI")) || DockerClientFactory.instance().isDockerAvailable(),
        "Docker is not available: dev/containers up");
    @SuppressWarnings("resource") // Closed with the store.
    GenericContainer<?> server = new GenericContainer<>(image)
        .withExposedPorts(port)
        .withEnv(environment)
        .waitingFor(ready.withStartupTimeout(STARTUP_MAX));
    if (command.length > 0) {
      server.withCommand(command);
    }
    server.start();
    return server;
  }
}
