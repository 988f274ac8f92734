package io.holdfast.lock.examples.tickets;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Where the tickets and the locks are. Travels to the sellers in their environment, since a command
 * line is for everybody to read.
 */
record Database(String url, String user, String password) {
  private static final String URL = "HOLDFAST_DEMO_URL";
  private static final String USER = "HOLDFAST_DEMO_USER";
  private static final String PASSWORD = "HOLDFAST_DEMO_PASSWORD";

  /** A seller needs one for its tickets; the lock client keeps one and borrows one. */
  private static final int CONNECTIONS = 4;

  /** Null: the environment names none. */
  static @Nullable Database of(Map<String, String> environment) {
    String url = environment.get(URL);
    return url == null
        ? null
        : new Database(
            url, environment.getOrDefault(USER, ""), environment.getOrDefault(PASSWORD, ""));
  }

  void putInto(Map<String, String> environment) {
    environment.put(URL, url);
    environment.put(USER, user);
    environment.put(PASSWORD, password);
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

  /** For a human: no password in it, and no parameters that may hold one. */
  @Override
  public String toString() {
    int end = url.indexOf('?') < 0 ? url.length() : url.indexOf('?');
    int parameters = url.indexOf(';');
    return url.substring(0, parameters < 0 ? end : Math.min(end, parameters));
  }
}
