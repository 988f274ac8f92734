package io.holdfast.lock.jdbc;

/** A conditional update found no row: another writer was here first, or the row does not exist. */
public final class StaleWriteException extends RuntimeException {
  private static final long serialVersionUID = 1;

  StaleWriteException() {
    super("The update found no row: another writer has been here since, or the row does not exist."
        + " Nothing was written; read again");
  }
}
