package io.holdfast.lock.examples.tickets;

import java.security.SecureRandom;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.HexFormat;
import org.h2.tools.Server;

/**
 * A database in this process, for the sellers to reach over TCP. It has to be this process: were it
 * in a seller, then killing or freezing that one would take the database away from all.
 */
final class H2Server implements AutoCloseable {
  private static final String LOOPBACK = "127.0.0.1";

  private final Server server;
  private final Connection keepsItOpen;
  private final Database database;

  private H2Server(Server server, Connection keepsItOpen, Database database) {
    this.server = server;
    this.keepsItOpen = keepsItOpen;
    this.database = database;
  }

  static H2Server start() throws SQLException {
    byte[] random = new byte[16];
    new SecureRandom().nextBytes(random);
    String secret = HexFormat.of().formatHex(random);
    String name = "mem:tickets-" + secret.substring(0, 8);
    Connection keepsItOpen = DriverManager.getConnection("jdbc:h2:" + name, "demo", secret);
    // H2 reads this when it is first used, and would listen on every address otherwise.
    System.setProperty("h2.bindAddress", LOOPBACK);
    Server server = Server.createTcpServer("-tcpPort", "0", "-tcpDaemon").start();
    String url = "jdbc:h2:tcp://" + LOOPBACK + ":" + server.getPort() + "/" + name;
    return new H2Server(server, keepsItOpen, new Database(url, "demo", secret, null));
  }

  Database database() {
    return database;
  }

  @Override
  public void close() throws SQLException {
    server.stop();
    keepsItOpen.close();
  }
}
