package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The statements that list taken locks by their stored names. Each method sends one statement.
 *
 * <p>Threads: immutable, and safe for use by any number of threads.
 */
public final class Listing {
  /** The most rows that one statement reads, so that each statement is short. */
  private static final int ROWS = 10_000;

  private final Dialect dialect;
  private final Sql held;
  private final Sql next;

  public Listing(Dialect dialect) {
    this.dialect = dialect;
    String range = " WHERE {key} >= :from AND {key} < :below ";
    String inOrder = "ORDER BY {key} LIMIT ";
    held = sql(Row.SELECT
        + ", '', (SELECT COUNT(*) "
        + Dialect.LINE
        + "), 0 FROM {table} l"
        + range
        + "AND l.expires_at > {now} "
        + inOrder
        + ":limit");
    next = sql("SELECT name FROM {table} l" + range + inOrder + "1 OFFSET " + ROWS);
  }

  private Sql sql(String template) {
    return dialect.sql(template.replace("{key}", dialect.nameByBytes()));
  }

  /**
   * Returns the taken locks whose stored names are in a range, up to a limit, in the order of
   * names.
   */
  public List<Standing> held(Connection connection, String from, String below, int limit)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(held.text())) {
      held.set(statement, "from", from);
      held.set(statement, "below", below);
      held.set(statement, "limit", limit);
      return Syntax.list(statement, result -> Standing.read(result, dialect));
    }
  }

  /**
   * Returns the end of the range that one {@link #held} should read: the name that has
   * {@value #ROWS} names of this range before it.
   *
   * @return the name, or null if the range has no more names than that
   */
  public @Nullable String next(Connection connection, String from, String below)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(next.text())) {
      next.set(statement, "from", from);
      next.set(statement, "below", below);
      try (ResultSet result = statement.executeQuery()) {
        return result.next() ? dialect.key(result, 1) : null;
      }
    }
  }
}
