package io.holdfast.lock.testsupport;

import io.holdfast.lock.tck.fault.FaultProxy;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Locale;

/**
 * A database server in a container, and how clients reach its database.
 *
 * @param server the server
 * @param urlPattern the JDBC URL, with a place for the host and one for the port
 * @param user the first user, who may do everything; with {@link Image#PASSWORD}
 */
public record Database(ServerContainer server, String urlPattern, String user)
    implements AutoCloseable {
  private static final String MYSQL_URL =
      "jdbc:mysql://%s:%d/" + Image.DATABASE + "?sslMode=DISABLED&allowPublicKeyRetrieval=true";

  /** Starts MySQL with more options of the server. */
  public static Database mySql(String... options) {
    return new Database(ServerContainer.start(Image.MYSQL, options), MYSQL_URL, "root");
  }

  /** Starts MariaDB with more options of the server. */
  public static Database mariaDb(String... options) {
    ServerContainer server = ServerContainer.start(Image.MARIADB, options);
    return new Database(server, "jdbc:mariadb://%s:%d/" + Image.DATABASE, "root");
  }

  /** Starts PostgreSQL with more options of the server. */
  public static Database postgres(String... options) {
    return postgres(ServerContainer.start(Image.POSTGRES, options));
  }

  /** Returns the database of a PostgreSQL server. */
  public static Database postgres(ServerContainer server) {
    return new Database(server, "jdbc:postgresql://%s:%d/" + Image.DATABASE, "postgres");
  }

  /** Returns the same MariaDB, reached by MySQL's driver. */
  public Database byMySqlDriver() {
    return new Database(server, MYSQL_URL, user);
  }

  public String url() {
    return url(server.host(), server.port());
  }

  public String url(FaultProxy proxy) {
    return url(proxy.host(), proxy.port());
  }

  private String url(String host, int port) {
    return String.format(Locale.ROOT, urlPattern, host, port);
  }

  /** Opens a connection of its own, apart from any pool. */
  public Connection connect() throws SQLException {
    return DriverManager.getConnection(url(), user, Image.PASSWORD);
  }

  @Override
  public void close() {
    server.close();
  }
}
