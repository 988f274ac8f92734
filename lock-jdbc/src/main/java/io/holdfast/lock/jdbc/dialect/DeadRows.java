package io.holdfast.lock.jdbc.dialect;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The statements that find and delete the rows that have not been used for some time. Each method
 * sends one statement.
 *
 * <p>Threads: immutable, and safe for use by any number of threads.
 */
public final class DeadRows {
  /** The condition for a row that has not been used; never true of the version's row. */
  private static final String DEAD =
      "changed_at > 0 AND changed_at < {now} - :unused AND expires_at < {now} - :unused"
          + " AND wanted_until < {now}";

  private static final String IN_ORDER = " ORDER BY name LIMIT 512";

  private final Dialect dialect;
  private final long unusedMicros;
  private final Sql listFirst;
  private final Sql list;
  private final ListSql delete;
  private final Sql deleteWaiters;

  /** @param unusedMicros the time after which an unused row is dead */
  public DeadRows(Dialect dialect, long unusedMicros) {
    this.dialect = dialect;
    this.unusedMicros = unusedMicros;
    listFirst = dialect.sql("SELECT name FROM {table} WHERE " + DEAD + IN_ORDER);
    list = dialect.sql("SELECT name FROM {table} WHERE name > :from AND " + DEAD + IN_ORDER);
    delete = dialect.listSql(dialect.deleteUnlocked("name IN (:keys) AND " + DEAD));
    deleteWaiters = dialect.sql("DELETE FROM {waiters} WHERE alive_until < {now} - :unused");
  }

  /** Returns the first dead names above this one; empty if there are no more. */
  public List<String> list(Connection connection, @Nullable String after) throws SQLException {
    Sql sql = after == null ? listFirst : list;
    try (PreparedStatement statement = connection.prepareStatement(sql.text())) {
      if (after != null) {
        sql.set(statement, "from", after);
      }
      sql.set(statement, "unused", unusedMicros);
      return Syntax.list(statement, result -> dialect.key(result, 1));
    }
  }

  /** Deletes those of these rows that are still dead and not locked; returns how many. */
  public int delete(Connection connection, List<String> keys) throws SQLException {
    Sql sql = delete.of(keys.size());
    try (PreparedStatement statement = connection.prepareStatement(sql.text())) {
      sql.set(statement, "keys", keys);
      sql.set(statement, "unused", unusedMicros);
      return statement.executeUpdate();
    }
  }

  /** Deletes the waiters that were last alive this long ago or longer; returns how many. */
  public int deleteWaiters(Connection connection) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(deleteWaiters.text())) {
      deleteWaiters.set(statement, "unused", unusedMicros);
      return statement.executeUpdate();
    }
  }
}
