package io.holdfast.lock.jdbc.dialect;

import java.nio.charset.StandardCharsets;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/**
 * The SQL that each database spells in its own way: the statements on one lock, and the expressions
 * and clauses of which the other statements are built. In these texts, {@code {table}} and its like
 * are filled in once, and {@code :owner} and its like are parameters of {@link Sql}.
 */
abstract sealed class Syntax permits Dialect {
  /**
   * The time for which a waiter counts as alive after its client last reported it. A dead waiter
   * delays the others by no more than this.
   */
  private static final long ALIVE_MICROS = 4_000_000;

  /** The time without a report after which a waiter's row is deleted by others that leave. */
  private static final long DEAD_MICROS = 600_000_000;

  /**
   * The farthest in the future that a reported {@code alive_until} or {@code wanted_until} is
   * believed. It is bounded, since the clock may have been set back after the report. It is more
   * than {@link #ALIVE_MICROS}, since a statement may have begun before a report that it reads.
   */
  static final long BELIEVED_MICROS = 2 * ALIVE_MICROS;

  private final String table;

  Syntax(String table) {
    this.table = table;
  }

  /** Returns the name of the table of locks, as it was configured. */
  public final String table() {
    return table;
  }

  /** Returns the name of the table of waiters. */
  public final String waiters() {
    return table + "_waiter";
  }

  /**
   * The expression for the database's clock, in microseconds since 1970, whatever the session's
   * time zone.
   */
  abstract String now();

  /**
   * The expression for the time that a statement has waited since its {@link #now}, in
   * microseconds, if the database's clock stands still within a statement: an extension must not
   * revive a lease that ended in that time.
   */
  String late() {
    return "0";
  }

  /** Builds an update of the rows that match and are not locked. */
  abstract String updateUnlocked(String where, String set);

  /** Builds a deletion of the rows that match and are not locked. */
  abstract String deleteUnlocked(String where);

  /** The expression for the column of names, compared and sorted byte by byte. */
  String nameByBytes() {
    return "name";
  }

  /**
   * The statement that takes the lock if it is free, {@code {condition}} holds, and its row is not
   * locked; {@code {served}} is the value of {@code served} afterwards.
   */
  abstract String takeTemplate();

  abstract String insertTemplate();

  abstract String releaseTemplate();

  abstract String extendTemplate();

  /**
   * The statement that hands a lock for which the condition holds to the first in its line, or
   * frees it.
   */
  abstract String handOverTemplate(String condition);

  String handOverTemplate() {
    return handOverTemplate("owner = :owner AND number = :number");
  }

  abstract String joinTemplate();

  abstract String acceptTemplate();

  /** Sets a name: as UTF-8 bytes, unless the database compares texts byte by byte. */
  void setKey(PreparedStatement statement, int index, String key) throws SQLException {
    statement.setBytes(index, key.getBytes(StandardCharsets.UTF_8));
  }

  String key(ResultSet result, int column) throws SQLException {
    return new String(result.getBytes(column), StandardCharsets.UTF_8);
  }

  /** Reads one row of a result. */
  @FunctionalInterface
  interface Reader<T> {
    T read(ResultSet result) throws SQLException;
  }

  /** Runs a query, and reads each row of its result. */
  static <T> List<T> list(PreparedStatement statement, Reader<T> reader) throws SQLException {
    try (ResultSet result = statement.executeQuery()) {
      List<T> rows = new ArrayList<>();
      while (result.next()) {
        rows.add(reader.read(result));
      }
      return rows;
    }
  }

  final Sql sql(String template) {
    return new Sql(this, fill(template), 1);
  }

  final ListSql listSql(String template) {
    return new ListSql(this, fill(template));
  }

  private String fill(String template) {
    return template
        .strip()
        .replace("{table}", table)
        .replace("{waiters}", waiters())
        .replace("{alive waiter}", "a.alive_until BETWEEN {now} AND {now} + {believed}")
        .replace("{unwanted}", "wanted_until NOT BETWEEN {now} AND {now} + {believed}")
        .replace("{now}", now())
        .replace("{late}", late())
        .replace("{alive}", String.valueOf(ALIVE_MICROS))
        .replace("{dead}", String.valueOf(DEAD_MICROS))
        .replace("{believed}", String.valueOf(BELIEVED_MICROS))
        .replace("{handed}", String.valueOf(Dialect.HANDED_OVER_MICROS));
  }
}
