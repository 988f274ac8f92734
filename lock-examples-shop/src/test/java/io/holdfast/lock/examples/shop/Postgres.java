package io.holdfast.lock.examples.shop;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;

/** The database of the shop, in a container. */
final class Postgres implements AutoCloseable {
  static final String USER = "postgres";
  static final String PASSWORD = "holdfast";
  private static final int PORT = 5432;

  @SuppressWarnings("resource") // Closed by close().
  private final GenericContainer<?> server = new GenericContainer<>("postgres:17")
      .withEnv(Map.of("POSTGRES_PASSWORD", PASSWORD, "POSTGRES_DB", "shop"))
      .withExposedPorts(PORT)
      // The first such line is of the server that makes the accounts.
      .waitingFor(Wait.forLogMessage(".*database system is ready to accept connections.*", 2)
          .withStartupTimeout(Duration.ofMinutes(2)));

  Postgres() {
    server.start();
  }

  String url() {
    return url("shop");
  }

  private String url(String database) {
    return "jdbc:postgresql://" + server.getHost() + ":" + server.getMappedPort(PORT) + "/"
        + database;
  }

  Connection connect() throws SQLException {
    return connect("shop");
  }

  private Connection connect(String database) throws SQLException {
    return DriverManager.getConnection(url(database), USER, PASSWORD);
  }

  /** Breaks all connections to the shop's database, and takes no others for so long. */
  void refuse(Duration time) throws SQLException, InterruptedException {
    try (Connection elsewhere = connect("postgres");
        Statement statement = elsewhere.createStatement()) {
      statement.execute("ALTER DATABASE shop ALLOW_CONNECTIONS false");
      try {
        statement.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'shop'");
        Thread.sleep(time.toMillis());
      } finally {
        statement.execute("ALTER DATABASE shop ALLOW_CONNECTIONS true");
      }
    }
  }

  @Override
  public void close() {
    server.stop();
  }
}
