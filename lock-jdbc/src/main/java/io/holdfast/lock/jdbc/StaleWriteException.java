package io.holdfast.lock.jdbc;

/**
 * Thrown when a conditional update matched no row: another writer was first, or the row does not
 * exist.
 */
public final class StaleWriteException extends RuntimeException {
  private static final long serialVersionUID = 1;

  StaleWriteException() {
    super("The update changed no row: another writer has been here since, or the row does not exist"
        + " (or it has these values already, with useAffectedRows=true on MySQL). Nothing was"
        + " written; read again");
  }
}
