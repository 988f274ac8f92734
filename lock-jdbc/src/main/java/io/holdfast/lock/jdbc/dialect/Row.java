package io.holdfast.lock.jdbc.dialect;

import java.sql.ResultSet;
import java.sql.SQLException;

/**
 * One lock, as its row showed it. All times except {@code changedAtMicros} are relative to the
 * database's clock.
 *
 * @param key the stored name
 * @param owner the owner id of the grant that has the lock; empty if no grant has it, or only a
 *     minimum hold keeps it
 * @param number the number of the last grant, of which its fencing token is made
 * @param sinceMicros the time since it was last taken or freed; for a taken lock, since it was
 *     granted
 * @param changedAtMicros when that was, in microseconds since 1970
 * @param remainingMicros the time for which it is still taken; zero or less if it is free
 * @param wantedMicros the time for which there may be a line; zero or less if there is none
 * @param served the place of the last waiter that got the lock
 * @param holder the description of its last holder
 */
public record Row(
    String key,
    String owner,
    long number,
    long sinceMicros,
    long changedAtMicros,
    long remainingMicros,
    long wantedMicros,
    long served,
    String holder) {

  /** The columns of a query of rows {@code l}, in the order of the components. */
  static final String COLUMNS = "l.name, l.owner, l.number, {now} - l.changed_at, l.changed_at,"
      + " l.expires_at - {now}, l.wanted_until - {now}, l.served, l.holder";

  /** Reads the row at which the result is. */
  static Row read(ResultSet result, Dialect dialect) throws SQLException {
    return new Row(
        dialect.key(result, 1),
        result.getString(2),
        result.getLong(3),
        result.getLong(4),
        result.getLong(5),
        result.getLong(6),
        believed(result.getLong(7)),
        result.getLong(8),
        result.getString(9));
  }

  private static long believed(long wantedMicros) {
    return wantedMicros > Dialect.BELIEVED_MICROS ? 0 : wantedMicros;
  }

  /** Returns the database's clock when the row was read, in microseconds since 1970. */
  public long nowMicros() {
    return changedAtMicros + sinceMicros;
  }

  /** Whether the lock can be taken. */
  public boolean isFree() {
    return remainingMicros <= 0;
  }

  /** Whether this grant has the lock. */
  public boolean isHeldBy(StoredClaim claim, long grantNumber) {
    return !isFree() && isOf(claim, grantNumber);
  }

  /** Whether this claim has the lock. */
  public boolean isOwnedBy(StoredClaim claim) {
    return !isFree() && owner.equals(claim.owner());
  }

  /**
   * Whether nobody has taken or freed the lock since this grant, even if the grant's time is over.
   */
  public boolean isOf(StoredClaim claim, long grantNumber) {
    return number == grantNumber && owner.equals(claim.owner());
  }
}
