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

  /** More than places can differ that several nodes of a cluster give out at the same time. */
  private static final long PLACES_OF_A_CLUSTER = 1_000;

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
    return wantedMicros > Protocol.BELIEVED_MICROS ? 0 : wantedMicros;
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

  /**
   * Whether the counter of places was set back (by TRUNCATE or RESTART IDENTITY, or on a replica
   * that did not get it). For a long time, nobody who joins would then be in the line. A place that
   * is only a little lower proves nothing: other nodes of a cluster give out such places.
   *
   * @param place that of a waiter that is not in the line, and whose turn can't be over
   */
  public boolean isSetBack(long place) {
    return served - place > PLACES_OF_A_CLUSTER;
  }
}
