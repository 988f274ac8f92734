package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The statements that only semaphores need, as {@link Dialect} has the others. A semaphore has a
 * row, and who has a permit is an entry in its list, as a reader is. None waits for a locked row: a
 * guard may have it locked.
 */
public final class PermitStatements {
  private final Dialect dialect;

  public PermitStatements(Dialect dialect) {
    this.dialect = dialect;
  }

  /**
   * Takes a permit, if nobody has it, those who have others know of as many as this claim does,
   * nobody in line is before this place, and its turn is not over. An entry whose time is over
   * counts, unless all are: {@link ReaderStatements#tidy} them.
   *
   * @param permit less than the claim's number of permits
   * @param place the waiter's place, or {@link Protocol#NO_PLACE} for a client that is not in the
   *     line
   * @return the grant's number, or {@link Protocol#NONE}
   */
  public long take(Connection connection, StoredClaim claim, int permit, long place)
      throws SQLException {
    Map<String, Object> values = new HashMap<>(dialect.ofClaim(claim, place));
    values.put("tag", new PermitTag(claim.permits(), permit).text());
    values.put("permits", (long) claim.permits());
    return dialect.runForNotified(connection, dialect.sql(LockStatement.TAKE_PERMIT), values);
  }

  /**
   * Ends a grant, even if its time is over.
   *
   * @param permit its permit, of which the first in line is told
   * @return whether it did; if not, the row does not show the grant, or is locked
   */
  public boolean leave(Connection connection, StoredClaim claim, int permit) throws SQLException {
    Map<String, ?> values =
        Map.of("key", claim.key(), "owner", claim.owner(), "freed", " p" + permit);
    return dialect.runForNotified(connection, dialect.sql(LockStatement.LEAVE_PERMIT), values)
        != Protocol.NONE;
  }

  /**
   * Ends a grant, even if its time is over, whose permit stays taken for this time; its entry then
   * is {@linkplain Reader#isKept kept}.
   *
   * @return whether it did; if not, the row does not show the grant, or is locked
   */
  public boolean keep(Connection connection, StoredClaim claim, long holdMicros)
      throws SQLException {
    Sql keep = dialect.sql(LockStatement.KEEP_PERMIT);
    return dialect.runForReport(connection, keep, claim.grant(Protocol.NONE, holdMicros))
        != Protocol.NONE;
  }

  /**
   * Returns the number of permits that the first in line knows of; 0: nobody is in line. The line
   * is read as it was a moment ago.
   */
  public int permitsOfFirst(Connection connection, String key) throws SQLException {
    List<Integer> first = dialect
        .sql(LockStatement.FIRST_IN_LINE)
        .rows(
            connection,
            Map.of("key", key),
            result -> PermitTag.of(result.getString(1)).of());
    return first.isEmpty() ? 0 : first.get(0);
  }
}
