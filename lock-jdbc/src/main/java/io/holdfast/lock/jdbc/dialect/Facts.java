package io.holdfast.lock.jdbc.dialect;

import java.sql.JDBCType;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The facts about a server and the tables that decide whether they are fit for locks. */
public abstract sealed class Facts permits PostgresFacts, MySqlFacts, H2Facts {
  final String table;

  Facts(String table) {
    this.table = table;
  }

  /** Returns the columns with what must be known of the server. */
  abstract String columns();

  /** Returns the question for the table's schema, as it is put into statements; null: none. */
  abstract String schema();

  /** Returns the session's own schema, as the catalog has it. */
  abstract String ownSchema();

  /** Returns the question for the number of unique keys on the name alone of the table. */
  abstract String uniqueKeys();

  /** Returns the condition for the row {@code l} of {@link Protocol#VERSION_KEY}. */
  String version() {
    return "l.name = '" + Protocol.VERSION_KEY + "'";
  }

  /** Returns the question for the server's facts and the schema. */
  public final String askServer() {
    return fill("SELECT {facts}, ({schema}) AS holdfast_schema");
  }

  /**
   * Returns the question for all that must be known of the server and the tables. Its row has what
   * {@link #askServer} has, and then the columns of both tables, with {@code holdfast_waiters} in
   * between; those of the first table have the row that tells the version.
   */
  public final String askTables() {
    return fill("""
        SELECT {facts}, ({schema}) AS holdfast_schema, ({unique keys}) AS holdfast_keys,
          l.*, 0 AS holdfast_waiters, w.*
        FROM (SELECT 1 AS holdfast_one) o
        LEFT JOIN {table} l ON {version} LEFT JOIN {waiters} w ON 1 = 0
        """);
  }

  private String fill(String question) {
    int dot = table.indexOf('.');
    return question
        .strip()
        .replace("{facts}", columns())
        .replace("{schema}", schema())
        .replace("{unique keys}", uniqueKeys())
        .replace("{version}", version())
        .replace("{in schema}", dot < 0 ? ownSchema() : "'" + table.substring(0, dot) + "'")
        .replace("{in table}", "'" + table.substring(dot + 1) + "'")
        .replace("{table}", table)
        .replace("{waiters}", Texts.waiters(table));
  }

  /** Throws if this server can't be used at all, with a message that says why. */
  public abstract void checkServer(ResultSet answer) throws SQLException;

  /**
   * Returns the settings of this server and session by which it can forget what it has confirmed,
   * each with what that takes.
   */
  public List<String> risks(ResultSet answer) throws SQLException {
    return List.of();
  }

  /**
   * Returns the name of the table, with the schema in which this session finds it now, so that it
   * does not matter which schema a later session is in.
   */
  public final String qualifiedTable(ResultSet answer) throws SQLException {
    String schema = answer.getString("holdfast_schema");
    return schema == null || table.indexOf('.') >= 0 ? table : schema + '.' + table;
  }

  /**
   * Checks that the table has a unique key on the name alone, and whatever else guards rely on.
   *
   * @return what is wrong, or null if nothing is
   */
  public @Nullable String flaw(ResultSet answer) throws SQLException {
    return answer.getLong("holdfast_keys") > 0 ? null : "it has no unique key on the column name";
  }

  /** Returns the type of the column name, which must distinguish all names. */
  public JDBCType nameType() {
    return JDBCType.VARBINARY;
  }
}
