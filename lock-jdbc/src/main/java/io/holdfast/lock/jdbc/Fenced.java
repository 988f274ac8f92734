package io.holdfast.lock.jdbc;

import java.sql.PreparedStatement;
import java.sql.SQLException;

/**
 * Optimistic locking: an update whose {@code WHERE} checks that the writer is current, by a token
 * or a version in the row. It needs no lock. With the token of a lease it refuses a stale holder,
 * in any database and not only in the one that has the locks.
 *
 * <p>MySQL's driver with {@code useAffectedRows=true} does not count a row that has the new values
 * already, so the same update a second time would look like a stale one. Leave that property off.
 *
 * <pre>{@code
 * UPDATE item SET price = ?, token = ? WHERE id = 42 AND token <= ?              -- fenced by a lease
 * UPDATE item SET price = ?, version = version + 1 WHERE id = 42 AND version = ? -- no lock at all
 * }</pre>
 */
public final class Fenced {
  private Fenced() {}

  /**
   * Executes an update that matches rows only if the writer is current.
   *
   * @return the number of rows that were updated, at least one
   * @throws StaleWriteException no row matched: another writer was first, or there is no such row
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
