package io.holdfast.lock.examples.shop;

import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import org.h2.tools.Server;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;

/**
 * The database of the shop.
 *
 * @param end ends its server
 */
record Database(String url, String user, String password, Runnable end) implements AutoCloseable {

  /** Starts H2's server in this process. */
  static Database h2() throws SQLException {
    // H2 reads this when it is first used, and would listen on every address otherwise.
    System.setProperty("h2.bindAddress", "127.0.0.1");
    String password = UUID.randomUUID().toString();
    String name = "mem:shop-" + UUID.randomUUID();
    DriverManager.getConnection("jdbc:h2:" + name + ";DB_CLOSE_DELAY=-1", "sa", password)
        .close();
    Server server = Server.createTcpServer("-tcpPort", "0", "-tcpDaemon").start();
    String url = "jdbc:h2:tcp://127.0.0.1:" + server.getPort() + "/" + name;
    return new Database(url, "sa", password, server::stop);
  }

  /** Starts PostgreSQL in a container. */
  @SuppressWarnings("resource") // Its end is the database's.
  static Database postgres() {
    String password = "holdfast";
    GenericContainer<?> server = new GenericContainer<>("postgres:17")
        .withEnv(Map.of("POSTGRES_PASSWORD", password, "POSTGRES_DB", "shop"))
        .withExposedPorts(5432)
        // The first such line is of the server that makes the accounts.
        .waitingFor(Wait.forLogMessage(".*database system is ready to accept connections.*", 2)
            .withStartupTimeout(Duration.ofMinutes(2)));
    server.start();
    String url =
        "jdbc:postgresql://" + server.getHost() + ":" + server.getMappedPort(5432) + "/shop";
    return new Database(url, "postgres", password, server::stop);
  }

  @Override
  public void close() {
    end.run();
  }
}
