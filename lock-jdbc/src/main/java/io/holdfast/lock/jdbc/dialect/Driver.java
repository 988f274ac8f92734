package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.SQLException;

/**
 * A JDBC driver's own knowledge of a session, beyond what JDBC tells. The driver need not be there,
 * and may be of a version that does not know it.
 *
 * @param inTransaction answers whether the session was in a transaction on the server after the
 *     last statement
 * @param session answers with the id that the server has given to the session
 */
record Driver(Question<Boolean> inTransaction, Question<Long> session) {
  /** The id of a session that the driver does not tell. */
  static final long UNKNOWN = 0;

  /** The driver that tells nothing. */
  static final Driver NONE = new Driver(connection -> false, connection -> UNKNOWN);

  /** A question that needs no I/O. */
  @FunctionalInterface
  interface Question<T> {
    T ask(Connection connection) throws SQLException;

    /** Returns a question whose answer is this if the driver does not know it. */
    default Question<T> or(T otherwise) {
      return connection -> {
        try {
          return ask(connection);
        } catch (LinkageError e) { // Another version.
          return otherwise;
        }
      };
    }
  }

  /**
   * Returns this driver, or one that knows nothing if the class of its connections is not visible.
   */
  static Driver of(String connectionClass, Driver driver) {
    try {
      Class.forName(connectionClass, false, Driver.class.getClassLoader());
    } catch (ClassNotFoundException | LinkageError e) {
      return NONE;
    }
    return new Driver(driver.inTransaction.or(false), driver.session.or(UNKNOWN));
  }
}
