package io.holdfast.lock.jdbc.dialect;

import java.sql.ResultSet;
import java.sql.SQLException;

/**
 * A lock and its line, as they were read.
 *
 * @param row the lock
 * @param waiter the owner id of the waiter that was asked about; empty if it has no place
 * @param ahead the number of waiters before it in the line, or of all waiters if it has no place;
 *     to a reader, only of those that want the lock for themselves
 * @param inLine whether it is in the line; if not, it has no place, or its turn is over
 */
public record Standing(Row row, String waiter, int ahead, boolean inLine) {

  /** Reads a row that has three columns more: the waiter, those ahead, and 1 if it is in line. */
  static Standing read(ResultSet result, Dialect dialect) throws SQLException {
    return new Standing(
        Row.read(result, dialect), result.getString(11), result.getInt(12), result.getInt(13) != 0);
  }

  /** Whether the claim that was asked about can get the lock now. */
  public boolean admits(StoredClaim claim) {
    return ahead == 0 && (row.isFree() || (row.isShared() && claim.shared() && hasRoom(claim)));
  }

  private boolean hasRoom(StoredClaim claim) {
    return claim.isForPermit()
        ? row.reading().size() < claim.permits() && !row.differs(claim)
        : Reader.fits(row.readers());
  }

  /**
   * Whether a waiter may not be notified when it can get the lock: nobody is, if one before it
   * gives up that keeps a reader out, or that has not taken a permit that is free.
   */
  public boolean mayMissNews(StoredClaim claim) {
    return claim.isForPermit() ? row.isFree() || hasRoom(claim) : row.isShared() && claim.shared();
  }
}
