package io.holdfast.lock.jdbc.dialect;

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
  UNKNOWN
}
