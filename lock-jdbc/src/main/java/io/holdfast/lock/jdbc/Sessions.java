package io.holdfast.lock.jdbc;

import io.holdfast.lock.spi.Deadline;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.Statement;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How a lent connection is used: with a limit on its socket, committed if it has no autocommit, and
 * left as it was found. Autocommit is never switched.
 */
final class Sessions {
  private static final Logger LOG = LoggerFactory.getLogger(Sessions.class);

  private Sessions() {}

  /** What is done with a connection: one or more statements that each stand alone. */
  @FunctionalInterface
  interface Call<T> {
    T on(Connection connection) throws SQLException;
  }

  /**
   * Runs a call within the deadline. If it throws, what it did without autocommit is rolled back.
   */
  static <T> T run(Connection connection, Deadline deadline, Call<T> call) throws SQLException {
    int before = limitSocket(connection, deadline.leftMillis());
    boolean explicit = false;
    boolean done = false;
    try {
      explicit = !connection.getAutoCommit();
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
      if (before != UNLIMITED_UNKNOWN) {
        restoreSocket(connection, before);
      }
    }
  }

  private static final int UNLIMITED_UNKNOWN = -1;

  /** Local in the drivers of MySQL, MariaDB and PostgreSQL: no round trip. H2 has no such limit. */
  private static int limitSocket(Connection connection, int millis) throws SQLException {
    try {
      int before = connection.getNetworkTimeout();
      connection.setNetworkTimeout(Runnable::run, millis);
      return before;
    } catch (SQLFeatureNotSupportedException e) {
      return UNLIMITED_UNKNOWN;
    }
  }

  private static void restoreSocket(Connection connection, int millis) {
    try {
      connection.setNetworkTimeout(Runnable::run, millis);
    } catch (SQLException e) {
      LOG.trace("The connection is broken already", e);
    }
  }

  private static void rollBackQuietly(Connection connection) {
    try {
      connection.rollback();
    } catch (SQLException e) {
      LOG.trace("The connection is broken already", e);
    }
  }

  /**
   * Ends the line to the server, and has the pool see that: pools take one that was given back just
   * now for a good one, and drop one whose statement failed. No I/O but on a driver that can't end
   * a line (H2's).
   */
  static void breakQuietly(Connection connection) {
    try {
      connection.abort(Runnable::run);
      try (Statement statement = connection.createStatement()) {
        statement.execute("SELECT 1");
      }
    } catch (SQLException | RuntimeException e) {
      LOG.trace("The connection is broken, as it should be", e);
    }
  }

  /** Closes a connection whose result is in already. */
  static void closeQuietly(Connection connection) {
    try {
      connection.close();
    } catch (SQLException e) {
      LOG.debug("A connection could not be given back", e);
    }
  }
}
