package io.holdfast.lock.examples.tickets;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The database of the tickets, and of the locks unless they are in another store. Travels to the
 * sellers in their environment, since a command line is for everybody to read.
 *
 * @param locks the URI of the store that has the locks, {@code redis:}, {@code rediss:},
 *     {@code zookeeper:}, or for Consul {@code http:} or {@code https:}; null: they are in the
 *     database
 */
record Database(
    String url, String user, String password, @Nullable String locks) {
  private static final String URL = "HOLDFAST_DEMO_URL";
  private static final String USER = "HOLDFAST_DEMO_USER";
  private static final String PASSWORD = "HOLDFAST_DEMO_PASSWORD";
  private static final String LOCKS = "HOLDFAST_DEMO_LOCKS";
  static final String ZOOKEEPER_SCHEME = "zookeeper://";

  /** The beginning of the schemes with and without TLS. */
  static final String CONSUL_SCHEMES = "http";

  /** A seller needs one for its tickets; the lock client keeps one and borrows one. */
  private static final int CONNECTIONS = 4;

  /** Returns the database in the environment; null if there is none. */
  static @Nullable Database of(Map<String, String> environment) {
    String url = environment.get(URL);
    return url == null
        ? null
        : new Database(
            url,
            environment.getOrDefault(USER, ""),
            environment.getOrDefault(PASSWORD, ""),
            environment.get(LOCKS));
  }

  /** Returns this database, with the locks in the store that the environment names, if any. */
  Database withLocksOf(Map<String, String> environment) {
    return new Database(url, user, password, environment.get(LOCKS));
  }

  void putInto(Map<String, String> environment) {
    environment.put(URL, url);
    environment.put(USER, user);
    environment.put(PASSWORD, password);
    if (locks != null) {
      environment.put(LOCKS, locks);
    }
  }

  HikariDataSource connect() {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(url);
    if (!user.isEmpty()) {
      config.setUsername(user);
      config.setPassword(password);
    }
    config.setMaximumPoolSize(CONNECTIONS);
    config.setConnectionTimeout(5_000);
    return new HikariDataSource(config);
  }

  /** Returns the place without the password, and without parameters that may hold one. */
  @Override
  public String toString() {
    int end = url.indexOf('?') < 0 ? url.length() : url.indexOf('?');
    int parameters = url.indexOf(';');
    String place = url.substring(0, parameters < 0 ? end : Math.min(end, parameters));
    if (locks == null) {
      return place;
    }
    String store = locks.startsWith(ZOOKEEPER_SCHEME)
        ? "ZooKeeper"
        : locks.startsWith(CONSUL_SCHEMES) ? "Consul" : "Redis";
    return place + ", the locks in " + store;
  }
}
