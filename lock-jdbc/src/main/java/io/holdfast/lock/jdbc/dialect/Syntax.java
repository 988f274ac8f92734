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
   * locked; {@code {next}} is the number of its grant, and {@code {served}} the value of
   * {@code served} afterwards.
   */
  abstract String takeTemplate();

  /** The expression for the time at which {@link #takeTemplate} takes the lock. */
  String takenAt() {
    return "{now}";
  }

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

  /** The statement that adds a free row with a number, unless there is one of this name. */
  abstract String createTemplate();

  /**
   * The statement that takes the free permit {@code :key} of the semaphore {@code :line} for the
   * place, if no waiter is before that; {@code {next}} is the number of the grant. It waits for no
   * locked row.
   */
  abstract String takePermitTemplate();

  /**
   * The statement that hands the permit {@code :key} of the semaphore {@code :line}, for which the
   * condition on {@code p} holds, to the first in the line, or frees it; {@code {next}} is the
   * number of the waiter's grant. It locks the permit's row first, since a transaction that is
   * guarded by the permit may keep that locked for long. It reports one more than the waiter's
   * place, or 1 if nobody waits.
   */
  abstract String handOverPermitTemplate(String condition);

  /**
   * The statement that takes the free place {@code :key} of a reader of the lock {@code :line}, for
   * which the condition holds. It waits for no locked row.
   */
  abstract String enterTemplate(String condition);

  /**
   * The statement that does the same for the waiter {@code :place} in the line, and takes that out
   * of the line: its {@code alive_until} is 0 then.
   */
  abstract String followTemplate(String condition);

  /**
   * The statement that frees a reader's place for which the condition holds, if its time is not
   * over, and the lock if that was the last reader and nobody can be in the line. It reports 2 if
   * that was the last one and somebody may be in the line, else 1.
   */
  abstract String exitTemplate(String condition);

  /**
   * The query that counts those rows {@code :keys} whose time is over, which it locks; it passes
   * over locked ones.
   */
  abstract String countOverTemplate();

  /**
   * The statement that gives a semaphore its number of permits, if none is held that was granted
   * with another number. It locks all rows of the semaphore, its own first, before it looks at
   * them, and fails if one is locked.
   */
  abstract String adoptTemplate();

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
        .replace("{now}", now())
        .replace("{late}", late())
        .replace("{readers}", Dialect.READERS)
        .replace("{step}", String.valueOf(ReaderRows.STEP))
        .replace("{alive}", String.valueOf(ALIVE_MICROS))
        .replace("{handed}", String.valueOf(Dialect.HANDED_OVER_MICROS));
  }
}
