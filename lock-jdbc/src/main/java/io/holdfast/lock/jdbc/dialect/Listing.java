package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;

/**
 * The statements that list or delete rows of many locks, whoever uses them. Each method sends one
 * statement on a connection that the caller passes, and leaves the commit to the caller.
 */
public final class Listing {
  private final Dialect dialect;

  public Listing(Dialect dialect) {
    this.dialect = dialect;
  }

  /**
   * Returns the taken locks whose stored names are in a range, up to a limit, in the order of
   * names.
   */
  public List<Standing> listHeld(Connection connection, String from, String below, long limit)
      throws SQLException {
    Map<String, ?> range = Map.of("from", from, "below", below, "limit", limit);
    return dialect
        .sql(LockStatement.LIST_HELD)
        .rows(connection, range, result -> Standing.read(result, dialect));
  }

  /**
   * Returns the end of the range that one {@link #listHeld} should read: the name that has
   * {@value Texts#PAGE} names of this range before it, or the end of this range.
   */
  public String endOfPage(Connection connection, String from, String below) throws SQLException {
    Map<String, ?> range = Map.of("from", from, "below", below);
    List<String> end = dialect
        .sql(LockStatement.END_OF_PAGE)
        .rows(connection, range, result -> dialect.key(result, 1));
    return end.isEmpty() ? below : end.get(0);
  }

  /** Returns the first names above this one whose rows nobody has used for this time. */
  public List<String> listUnused(Connection connection, String after, long unusedMicros)
      throws SQLException {
    Map<String, ?> values = Map.of("from", after, "unused", unusedMicros);
    return dialect
        .sql(LockStatement.LIST_UNUSED)
        .rows(connection, values, result -> dialect.key(result, 1));
  }

  /**
   * Deletes those of these rows that nobody has used for this time and that are not locked; returns
   * how many.
   */
  public int deleteUnused(Connection connection, List<String> keys, long unusedMicros)
      throws SQLException {
    return dialect
        .sql(LockStatement.DELETE_UNUSED)
        .update(connection, Map.of("keys", keys, "unused", unusedMicros));
  }

  /** Deletes the waiters that were last alive this long ago or longer; returns how many. */
  public int deleteUnusedWaiters(Connection connection, long unusedMicros) throws SQLException {
    return dialect
        .sql(LockStatement.DELETE_UNUSED_WAITERS)
        .update(connection, Map.of("unused", unusedMicros));
  }
}
