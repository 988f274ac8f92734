package io.holdfast.lock.jdbc;

import java.sql.PreparedStatement;
import java.sql.SQLException;

/**
 * The optimistic way: an update whose {@code WHERE} tells whether the writer is current, by a token
 * or a version in the row. No lock is needed for it; with a lease's token it refuses a holder that
 * was overtaken, in any database, not only in the one that has the locks.
 *
 * <pre>{@code
 * UPDATE item SET price = ?, token = ? WHERE id = 42 AND token <= ?              -- fenced by a lease
 * UPDATE item SET price = ?, version = version + 1 WHERE id = 42 AND version = ? -- no lock at all
 * }</pre>
 */
public final class Fenced {
  private Fenced() {}

  /**
   * Executes an update that finds its rows only if the writer is current.
   *
   * @return how many rows were updated: at least one
   * @throws StaleWriteException it found none: another was here first, or there is no such row
   * @throws SQLException the database failed
   */
  public static int update(PreparedStatement update) throws SQLException {
    int rows = update.executeUpdate();
    if (rows == 0) {
      throw new StaleWriteException();
    }
    return rows;
  }
}
