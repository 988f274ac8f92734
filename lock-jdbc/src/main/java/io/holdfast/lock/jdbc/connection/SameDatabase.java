package io.holdfast.lock.jdbc.connection;

import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.Failure;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Refuses connections to another database than the one of {@code build()}. Some data sources choose
 * by the calling thread (by its tenant, or because its transaction is read-only), and a client's
 * own threads would get another one than the callers.
 *
 * <p>A connection's URL tells its database, without I/O. A new URL is no proof of another database:
 * drivers that follow a failover may name the server in it. So a connection with a new URL has to
 * show the id of the tables, once for each URL.
 *
 * <p>Threads: safe for use by any number of threads.
 */
public final class SameDatabase {
  private final Dialect dialect;
  private final @Nullable String id;
  private final String firstUrl;
  private final Set<String> urls = ConcurrentHashMap.newKeySet();

  /**
   * @param id the {@linkplain Dialect#readId id} of the tables; null if it is not known, so that no
   *     other URL is accepted
   * @param url the URL of a connection to the database
   */
  public SameDatabase(Dialect dialect, @Nullable String id, String url) {
    this.dialect = dialect;
    this.id = id;
    this.firstUrl = url;
    urls.add(url);
  }

  Dialect dialect() {
    return dialect;
  }

  /** Returns the connection's URL without its parameters. */
  public static String url(Connection connection) throws SQLException {
    String url = String.valueOf(connection.getMetaData().getURL());
    int end = 0;
    while (end < url.length() && url.charAt(end) != '?' && url.charAt(end) != ';') {
      end++;
    }
    return url.substring(0, end);
  }

  /**
   * Checks a connection; no I/O unless its URL is new.
   *
   * @throws StoreException it leads to another database
   */
  void check(Lent lent, Deadline deadline) throws SQLException, StoreException {
    String url = url(lent.connection());
    if (urls.contains(url)) {
      return;
    }
    if (id == null || !Sessions.run(lent.connection(), deadline, this::hasId)) {
      throw Pool.unfit(
          lent,
          ("The data source gave a connection to another database (%s) than at build() (%s). Does it"
                  + " choose by the calling thread? Build a client for each database, with the data"
                  + " source of that one")
              .formatted(shown(url), shown(firstUrl)));
    }
    urls.add(url);
  }

  /** Returns a URL without what may be a password. */
  private static String shown(String url) {
    return url.replaceAll("//.*@", "//").replaceAll("\\(.*", "(...)");
  }

  private boolean hasId(Connection connection) throws SQLException {
    try {
      return dialect.readId(connection).equals(id);
    } catch (SQLException e) {
      if (dialect.failure(e) == Failure.UNKNOWN) {
        throw e;
      }
      return false; // There is no such table, for example.
    }
  }
}
