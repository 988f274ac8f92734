package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.SQLException;

/**
 * What one driver knows of a session and JDBC does not tell. The driver need not be there, and may
 * be of a version that does not know it.
 */
@FunctionalInterface
interface Driver {
  /**
   * Whether the session was in a transaction on the server after the last statement; false if the
   * connection is not of this driver. No I/O.
   */
  boolean isInTransaction(Connection connection) throws SQLException;

  /**
   * Returns this driver, or one that knows nothing if the class of its connections is not visible.
   */
  static Driver of(String connectionClass, Driver driver) {
    try {
      Class.forName(connectionClass, false, Driver.class.getClassLoader());
    } catch (ClassNotFoundException | LinkageError e) {
      return connection -> false;
    }
    return connection -> {
      try {
        return driver.isInTransaction(connection);
      } catch (LinkageError e) { // Another version.
        return false;
      }
    };
  }
}
