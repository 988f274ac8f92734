package io.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;

/** A pooler between the clients and PostgreSQL. */
@Tag("nightly")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(120)
class PgBouncerTest {
  private static final int PORT = 5432;

  /** The server connections that the pooler shares out. */
  private static final int SERVER_CONNECTIONS = 4;

  private static final Duration TTL = Duration.ofSeconds(6);
  private static final Duration HAND_OVER_MAX = Duration.ofSeconds(10);

  private KitContainer postgres;

  @BeforeAll
  void open() {
    postgres = KitContainer.postgres();
  }

  @AfterAll
  void close() {
    if (postgres != null) {
      postgres.close();
    }
  }

  @Test
  void withoutNotificationsAllWorksAndNothingPilesUp() throws Exception {
    handOverInTransactionMode(builder -> builder.notifications(false));
  }

  @Test
  void byDefaultAllWorksAndNothingPilesUp() throws Exception {
    handOverInTransactionMode(builder -> builder);
  }

  private void handOverInTransactionMode(UnaryOperator<JdbcLocks.Builder> options)
      throws Exception {
    try (GenericContainer<?> bouncer = bouncer("transaction");
        HikariDataSource onePool = pool(bouncer);
        HikariDataSource otherPool = pool(bouncer);
        LockClient one = client(options, onePool);
        LockClient other = client(options, otherPool)) {
      String name = Claims.freshKey().name();
      try (Lease kept = one.get(Claims.freshKey().name()).lock()) {
        // For longer than the listener takes to find out, and the lease's TTL.
        long begin = System.nanoTime();
        while (System.nanoTime() - begin < TTL.multipliedBy(3).dividedBy(2).toNanos()) {
          handOver(one, other, name);
          handOver(other, one, name);
        }
        assertThat(kept.isHeld()).isTrue();
      }
      assertThat(unread(onePool) + unread(otherPool)).isZero();
      assertThat(listeners(bouncer)).isZero();
    }
  }

  @Test
  void aPoolerThatKeepsSessionsPassesNotificationsIfTheUserSaysSo() throws Exception {
    try (GenericContainer<?> bouncer = bouncer("session");
        HikariDataSource onePool = pool(bouncer);
        HikariDataSource otherPool = pool(bouncer);
        LockClient one = client(builder -> builder.notifications(true), onePool);
        LockClient other = client(builder -> builder.notifications(true), otherPool)) {
      String name = Claims.freshKey().name();
      handOver(one, other, name);
      Await.until("somebody listens", () -> {
        try {
          handOver(one, other, name);
          return !ServerPair.ask(
                  postgres, "SELECT COUNT(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
              .equals("0");
        } catch (Exception e) {
          throw new AssertionError(e);
        }
      });
    }
  }

  /** The first client has it, the second one waits for it and gets it. */
  private static void handOver(LockClient first, LockClient second, String name) throws Exception {
    CompletableFuture<Boolean> granted = new CompletableFuture<>();
    Thread waiter = new Thread(
        () -> {
          try (Lease lease = second.get(name).lock()) {
            granted.complete(lease.isHeld());
          } catch (Throwable t) {
            granted.completeExceptionally(t);
          }
        },
        "waiter");
    try (Lease lease = first.get(name).lock()) {
      waiter.start();
      Await.pause(Duration.ofMillis(30));
      assertThat(granted).isNotDone();
      assertThat(lease.isHeld()).isTrue();
    }
    assertThat(granted.get(HAND_OVER_MAX.toSeconds(), TimeUnit.SECONDS)).isTrue();
    waiter.join();
  }

  /** The notifications that wait in connections from which nobody reads them. */
  private static int unread(HikariDataSource pool) throws SQLException {
    List<Connection> connections = new ArrayList<>();
    try {
      int unread = 0;
      // One is the client's own.
      while (connections.size() < pool.getMaximumPoolSize() - 1) {
        Connection connection = pool.getConnection();
        connections.add(connection);
        try (Statement statement = connection.createStatement()) {
          statement.execute("SELECT 1"); // Has the driver read what has come.
        }
        PGNotification[] notifications = connection.unwrap(PGConnection.class).getNotifications();
        unread += notifications == null ? 0 : notifications.length;
      }
      return unread;
    } finally {
      for (Connection connection : connections) {
        connection.close();
      }
    }
  }

  /** The number of the pooler's server connections that listen to something. */
  private static int listeners(GenericContainer<?> bouncer) throws SQLException {
    List<Connection> transactions = new ArrayList<>();
    try (HikariDataSource pool = pool(bouncer)) {
      int listeners = 0;
      for (int i = 0; i < SERVER_CONNECTIONS; i++) {
        Connection transaction = pool.getConnection();
        transactions.add(transaction);
        transaction.setAutoCommit(false);
        try (Statement statement = transaction.createStatement();
            ResultSet result =
                statement.executeQuery("SELECT COUNT(*) FROM pg_listening_channels()")) {
          result.next();
          listeners += result.getInt(1);
        }
      }
      return listeners;
    } finally {
      for (Connection transaction : transactions) {
        transaction.close();
      }
    }
  }

  private GenericContainer<?> bouncer(String mode) {
    String settings = String.join(
        "\n",
        "[databases]",
        "holdfast = host=" + postgres.server().addressInside() + " port=" + PORT,
        "[pgbouncer]",
        "listen_addr = *",
        "listen_port = " + PORT,
        "unix_socket_dir =",
        "user = postgres",
        "auth_type = scram-sha-256",
        "auth_file = /tmp/users",
        "pool_mode = " + mode,
        "default_pool_size = " + (mode.equals("session") ? 20 : SERVER_CONNECTIONS),
        "ignore_startup_parameters = extra_float_digits",
        "");
    String users = "\"" + postgres.user() + "\" \"" + postgres.password() + "\"\n";
    @SuppressWarnings("resource") // Closed by the caller.
    GenericContainer<?> bouncer = new GenericContainer<>("edoburu/pgbouncer:v1.24.1-p1")
        .withExposedPorts(PORT)
        .withCommand(
            "sh",
            "-c",
            "printf %s \"$SETTINGS\" > /tmp/settings && printf %s \"$USERS\" > /tmp/users"
                + " && chmod a+r /tmp/settings /tmp/users && exec pgbouncer /tmp/settings")
        .withEnv("SETTINGS", settings)
        .withEnv("USERS", users)
        .waitingFor(Wait.forLogMessage(".*process up.*", 1));
    bouncer.start();
    return bouncer;
  }

  private static HikariDataSource pool(GenericContainer<?> bouncer) {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(String.format(
        Locale.ROOT,
        "jdbc:postgresql://%s:%d/holdfast",
        bouncer.getHost(),
        bouncer.getFirstMappedPort()));
    config.setUsername("postgres");
    config.setPassword("holdfast");
    config.setMaximumPoolSize(5);
    config.addDataSourceProperty("prepareThreshold", "0");
    return new HikariDataSource(config);
  }

  private static LockClient client(
      UnaryOperator<JdbcLocks.Builder> options, HikariDataSource pool) {
    return options
        .apply(JdbcLocks.builder(pool))
        .schema(SchemaMode.CREATE)
        .storeTimeout(TTL.dividedBy(3))
        .defaultOptions(LockOptions.renewed(TTL))
        .build();
  }
}
