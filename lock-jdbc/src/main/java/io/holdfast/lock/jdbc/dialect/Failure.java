package io.holdfast.lock.jdbc.dialect;

import java.sql.SQLException;
import java.util.stream.Stream;

/** The kinds of failed statements. With all but {@link #UNKNOWN}, nothing was changed. */
public enum Failure {
  /** The statement may succeed if it is sent again. */
  TRANSIENT,

  /** The server or the session is read-only, as a replica is. */
  READ_ONLY,

  /** There is a row of this name. */
  DUPLICATE,

  /** The database did not understand the statement. */
  SYNTAX_ERROR,

  /** The database refused the statement for another reason. */
  REFUSED,

  /** The statement may have been carried out, and the connection may be broken. */
  UNKNOWN;

  /** Whether a failure has an SQL state that begins with one of these. */
  static boolean hasState(SQLException e, String... beginnings) {
    String state = e.getSQLState();
    return state != null
        && state.length() == 5
        && Stream.of(beginnings).anyMatch(state::startsWith);
  }
}
