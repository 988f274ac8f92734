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
 * @param number the number of the last grant
 * @param sinceMicros the time since it was last taken or freed; for a taken lock, since it was
 *     granted
 * @param changedAtMicros when that was, in microseconds since 1970
 * @param remainingMicros the time for which it is still taken; zero or less if it is free
 * @param wantedMicros the time for which there may be a line; zero or less if there is none
 * @param holder the description of its last holder
 * @param served the place of the last waiter that got it; of a permit, the number of permits that
 *     its semaphore has
 * @param guarded the number of times that a transaction was guarded; of a semaphore, the number of
 *     times that its number of permits was set; of a lock that readers have, see {@link ReaderRows}
 */
public record Row(
    String key,
    String owner,
    long number,
    long sinceMicros,
    long changedAtMicros,
    long remainingMicros,
    long wantedMicros,
    String holder,
    long served,
    long guarded) {

  /** The most by which the times of one row differ because the clock went on while it was read. */
  private static final long READING_MICROS = 1_000;

  /** The number of columns of {@link #SELECT}. */
  static final int COLUMNS = 10;

  /** The beginning of a query of rows: their columns, in the order of the components. */
  static final String SELECT = """
      SELECT l.name, l.owner, l.number, {now} - l.changed_at, l.changed_at, l.expires_at - {now},
        l.wanted_until - {now}, l.holder, l.served, l.guarded""";

  /** Reads the row at which the result is. */
  static Row read(ResultSet result, Syntax syntax) throws SQLException {
    return new Row(
        syntax.key(result, 1),
        result.getString(2),
        result.getLong(3),
        result.getLong(4),
        result.getLong(5),
        result.getLong(6),
        result.getLong(7),
        result.getString(8),
        result.getLong(9),
        result.getLong(10));
  }

  /** Whether this is the row of a lock that readers have, or had when its time ended. */
  public boolean isRead() {
    return owner.equals(Dialect.READERS);
  }

  /** Returns this row with another time left. */
  public Row withRemaining(long micros) {
    return new Row(
        key,
        owner,
        number,
        sinceMicros,
        changedAtMicros,
        micros,
        wantedMicros,
        holder,
        served,
        guarded);
  }

  /** Returns its end, in microseconds since 1970: not later than it is. */
  public long endMicros() {
    return changedAtMicros + sinceMicros + remainingMicros - READING_MICROS;
  }

  /** Whether the lock can be taken. */
  public boolean isFree() {
    return remainingMicros <= 0;
  }

  /** Whether this grant has the lock. */
  public boolean isHeldBy(String ownerId, long grantNumber) {
    return !isFree() && isOf(ownerId, grantNumber);
  }

  /** Whether the owner of this id has the lock. */
  public boolean isOwnedBy(String ownerId) {
    return !isFree() && owner.equals(ownerId);
  }

  /**
   * Whether nobody has taken or freed the lock since this grant, even if the grant's time is over.
   */
  public boolean isOf(String ownerId, long grantNumber) {
    return number == grantNumber && owner.equals(ownerId);
  }
}
