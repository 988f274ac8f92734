package io.holdfast.lock.jdbc.connection;

import io.holdfast.lock.spi.Deadline;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.Statement;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs statements on a lent connection: limits the time on its socket, commits if it has no
 * autocommit, and leaves it in the state in which it was found. Autocommit is never switched.
 */
public final class Sessions {
  private static final Logger log = LoggerFactory.getLogger(Sessions.class);

  /** The time limit of a socket whose driver knows none. */
  private static final int UNLIMITED = -1;

  private Sessions() {}

  /** One or more statements; a single transaction if the connection has no autocommit. */
  @FunctionalInterface
  public interface Call<T> {
    T on(Connection connection) throws SQLException;
  }

  /**
   * Runs a call. Each answer of the server is awaited for at most the time that the deadline leaves
   * at the start, so a call of several statements can take longer. If it throws, and the connection
   * has no autocommit, its work is rolled back.
   */
  public static <T> T run(Connection connection, Deadline deadline, Call<T> call)
      throws SQLException {
    int before = limitSocket(connection, deadline.leftMillis());
    boolean explicit = false;
    boolean done = false;
    try {
      explicit = !connection.getAutoCommit();
      connection.clearWarnings(); // A server can warn as a session begins, and pools keep that.
      T result = call.on(connection);
      if (explicit) {
        connection.commit();
      }
      done = true;
      return result;
    } finally {
      if (explicit && !done) {
        rollBackQuietly(connection);
      }
      if (before != UNLIMITED) {
        restoreSocket(connection, before);
      }
    }
  }

  /**
   * Goes on, in a call that runs on this connection, with a transaction of its own and within what
   * the deadline leaves now. To borrow anew would be a wait, and the check of another connection.
   */
  public static <T> T next(Connection connection, Deadline deadline, Call<T> call)
      throws SQLException {
    if (!connection.getAutoCommit()) {
      connection.commit();
    }
    int unused = limitSocket(connection, deadline.leftMillis());
    return call.on(connection);
  }

  /** Runs one statement that has no parameters within the deadline. */
  public static void execute(Connection connection, Deadline deadline, String sql)
      throws SQLException {
    run(connection, deadline, c -> execute(c, sql));
  }

  private static boolean execute(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      return statement.execute(sql);
    }
  }

  /**
   * Sets the socket's time limit, and returns the former one. No round trip with the drivers of
   * MySQL, MariaDB and PostgreSQL. H2 has no such limit.
   */
  private static int limitSocket(Connection connection, int millis) throws SQLException {
    try {
      int before = connection.getNetworkTimeout();
      connection.setNetworkTimeout(Runnable::run, millis);
      return before;
    } catch (SQLFeatureNotSupportedException e) {
      return UNLIMITED;
    } catch (SQLException e) {
      throw new SQLException(
          "The time on the connection's socket can't be limited: " + e,
          e.getSQLState(),
          e.getErrorCode(),
          e);
    }
  }

  private static void restoreSocket(Connection connection, int millis) {
    try {
      connection.setNetworkTimeout(Runnable::run, millis);
    } catch (SQLException | RuntimeException e) {
      log.trace("The connection is broken already", e);
    }
  }

  private static void rollBackQuietly(Connection connection) {
    try {
      connection.rollback();
    } catch (SQLException | RuntimeException e) {
      log.trace("The connection is broken already", e);
    }
  }

  /**
   * Breaks the connection to the server, and makes the pool notice: pools trust a connection that
   * was given back just now, but drop one whose statement failed. No I/O, except on a driver that
   * can't abort a connection (H2's).
   */
  static void breakQuietly(Connection connection) {
    try {
      connection.abort(Runnable::run);
      execute(connection, "SELECT 1");
    } catch (SQLException | RuntimeException e) {
      log.trace("The connection is broken, as it should be", e);
    }
  }

  /** Gives a connection back to its pool; a failure is only logged. */
  static void closeQuietly(Connection connection) {
    try {
      connection.close();
    } catch (SQLException | RuntimeException e) {
      log.debug("A connection could not be given back", e);
    }
  }
}
