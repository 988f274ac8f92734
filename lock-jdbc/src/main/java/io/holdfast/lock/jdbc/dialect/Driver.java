package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.SQLException;

/**
 * A JDBC driver's own knowledge of a session, beyond what JDBC tells. The driver need not be there,
 * and may be of a version that does not know it.
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
