package io.holdfast.lock.jdbc;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.tck.fault.FaultProxy;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;

/** The databases of the tests, each started once per JVM, when first asked for. */
enum Server {
  H2("jdbc:h2:mem:holdfast;DB_CLOSE_DELAY=-1"),
  MYSQL("jdbc:mysql://%s:%d/holdfast?sslMode=DISABLED&allowPublicKeyRetrieval=true"),
  MARIADB("jdbc:mariadb://%s:%d/holdfast"),
  MARIADB_BY_MYSQL_DRIVER(
      "jdbc:mysql://%s:%d/holdfast?sslMode=DISABLED&allowPublicKeyRetrieval=true"),
  POSTGRES("jdbc:postgresql://%s:%d/holdfast");

  private static final String PASSWORD = "holdfast";
  private static final Duration STARTUP = Duration.ofMinutes(2);

  private final String urlPattern;

  Server(String urlPattern) {
    this.urlPattern = urlPattern;
  }

  /** The databases of {@link EachServer}. */
  static Stream<Server> ofThisRun() {
    boolean all = System.getProperty("test.all") != null;
    return Arrays.stream(values())
        .filter(server -> all || (server != MARIADB && server != MARIADB_BY_MYSQL_DRIVER));
  }

  /** The databases of {@link EachRealServer}. */
  static Stream<Server> realOfThisRun() {
    return ofThisRun().filter(server -> server != H2);
  }

  /** A pool as users have it, with autocommit. */
  HikariDataSource pool(int size) {
    return pool(size, config -> {});
  }

  HikariDataSource pool(int size, Consumer<HikariConfig> more) {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(url());
    config.setUsername(user());
    config.setPassword(PASSWORD);
    config.setMaximumPoolSize(size);
    config.setMinimumIdle(1);
    more.accept(config);
    return new HikariDataSource(config);
  }

  /** A connection of its own, apart from any pool. */
  Connection connect() throws SQLException {
    return DriverManager.getConnection(url(), user(), PASSWORD);
  }

  /** Stops the server's processes, as a frozen machine would. */
  void pause() {
    Freezer.freeze(container());
  }

  void unpause() {
    Freezer.thaw(container());
  }

  private GenericContainer<?> container() {
    return switch (this) {
      case H2 -> throw new IllegalStateException("H2 runs in this process");
      case MYSQL -> MySqlContainer.RUNNING;
      case MARIADB, MARIADB_BY_MYSQL_DRIVER -> MariaDbContainer.RUNNING;
      case POSTGRES -> PostgresContainer.RUNNING;
    };
  }

  String url() {
    if (this == H2) {
      return urlPattern;
    }
    GenericContainer<?> container = container();
    return url(container.getHost(), container.getFirstMappedPort());
  }

  private String url(String host, int port) {
    return String.format(Locale.ROOT, urlPattern, host, port);
  }

  FaultProxy openProxy() {
    GenericContainer<?> container = container();
    return FaultProxy.open(container.getHost(), container.getFirstMappedPort());
  }

  String url(FaultProxy proxy) {
    return url(proxy.host(), proxy.port());
  }

  String user() {
    return switch (this) {
      case H2 -> "sa";
      case POSTGRES -> "postgres";
      default -> "root";
    };
  }

  boolean isMariaDb() {
    return this == MARIADB || this == MARIADB_BY_MYSQL_DRIVER;
  }

  boolean isMySqlFamily() {
    return this == MYSQL || isMariaDb();
  }

  private static GenericContainer<?> start(
      String image,
      int port,
      String readyLog,
      int readyTimes,
      Map<String, String> environment,
      String... options) {
    Assumptions.assumeTrue(
        "true".equals(System.getenv("CI")) || DockerClientFactory.instance().isDockerAvailable(),
        "Docker is not available: dev/containers up");
    @SuppressWarnings("resource") // Ends with the JVM.
    GenericContainer<?> container = new GenericContainer<>(image)
        .withExposedPorts(port)
        .withEnv(environment)
        .withCommand(options)
        .waitingFor(Wait.forLogMessage(readyLog, readyTimes).withStartupTimeout(STARTUP));
    container.start();
    return container;
  }

  // Their disks need not survive a power cut. The images' entry points run a server without a port
  // first, and PostgreSQL's says twice that it is ready.

  private static final class MySqlContainer {
    static final GenericContainer<?> RUNNING = start(
        "mysql:9",
        3306,
        ".*ready for connections.*port: 3306.*",
        1,
        Map.of("MYSQL_ROOT_PASSWORD", PASSWORD, "MYSQL_DATABASE", "holdfast"),
        "--innodb-flush-log-at-trx-commit=2",
        "--sync-binlog=0");
  }

  private static final class MariaDbContainer {
    static final GenericContainer<?> RUNNING = start(
        "mariadb:11.8",
        3306,
        ".*port: 3306.*",
        1,
        Map.of("MARIADB_ROOT_PASSWORD", PASSWORD, "MARIADB_DATABASE", "holdfast"),
        "--innodb-flush-log-at-trx-commit=2");
  }

  private static final class PostgresContainer {
    static final GenericContainer<?> RUNNING = start(
        "postgres:17",
        5432,
        ".*database system is ready to accept connections.*",
        2,
        Map.of("POSTGRES_PASSWORD", PASSWORD, "POSTGRES_DB", "holdfast"),
        "-c",
        "synchronous_commit=off",
        "-c",
        "max_notify_queue_pages=64",
        "-c",
        "shared_preload_libraries=pg_stat_statements",
        "-c",
        "pg_stat_statements.track_utility=on");
  }

  /** The name of a database in test names. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }
}
