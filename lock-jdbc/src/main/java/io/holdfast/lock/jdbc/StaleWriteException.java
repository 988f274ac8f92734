package io.holdfast.lock.jdbc;

/**
 * Thrown when a conditional update matched no row: another writer was first, or the row does not
 * exist.
 */
public final class StaleWriteException extends RuntimeException {
  private static final long serialVersionUID = 1;

  StaleWriteException() {
    super("The update found no row: another writer has been here since, or the row does not exist."
        + " Nothing was written; read again");
  }
}
