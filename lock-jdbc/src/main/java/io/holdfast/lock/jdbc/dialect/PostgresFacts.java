package io.holdfast.lock.jdbc.dialect;

import java.sql.JDBCType;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The facts about PostgreSQL. */
final class PostgresFacts extends Facts {
  PostgresFacts(String table) {
    super(table);
  }

  @Override
  String columns() {
    return """
          version() AS holdfast_version, current_setting('server_encoding') AS holdfast_encoding,
          current_setting('synchronous_commit') AS holdfast_synchronous_commit,
          current_setting('fsync') AS holdfast_fsync,
          (SELECT relpersistence = 'p' FROM pg_class WHERE oid = to_regclass('{table}'))
            AS holdfast_kept
          """;
  }

  @Override
  String schema() {
    return """
          SELECT quote_ident(COALESCE((
            SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE c.oid = to_regclass('{table}')), current_schema()))
          """;
  }

  @Override
  String ownSchema() {
    return "current_schema()";
  }

  @Override
  String uniqueKeys() {
    return """
          SELECT count(*) FROM pg_index i
          JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
          WHERE i.indrelid = '{table}'::regclass AND i.indisunique AND i.indisvalid
            AND i.indnkeyatts = 1 AND i.indpred IS NULL AND a.attname = 'name'
            AND a.atttypid <> 'name'::regtype
          """;
  }

  @Override
  public JDBCType nameType() {
    return JDBCType.VARCHAR;
  }

  /**
   * Looks at what the server says of its version: from a look-alike, the driver gets the version of
   * PostgreSQL that it claims to be compatible with.
   */
  @Override
  public void checkServer(ResultSet answer) throws SQLException {
    LookAlikes.refuse(answer.getString("holdfast_version"));
    String encoding = answer.getString("holdfast_encoding");
    if (!encoding.equals("UTF8") && !encoding.equals("SQL_ASCII")) {
      throw new IllegalStateException(
          ("The database's encoding is %s, which can't hold every" + " lock name; it must be UTF8")
              .formatted(encoding));
    }
  }

  @Override
  public List<String> risks(ResultSet answer) throws SQLException {
    List<String> risks = new ArrayList<>();
    if (answer.getString("holdfast_synchronous_commit").equals("off")) {
      risks.add("synchronous_commit=off, by any crash of the server");
    }
    if (answer.getString("holdfast_fsync").equals("off")) {
      risks.add("fsync=off, by a crash of the server's machine");
    }
    return risks;
  }

  @Override
  public @Nullable String flaw(ResultSet answer) throws SQLException {
    return answer.getBoolean("holdfast_kept")
        ? super.flaw(answer)
        : "a crash of the server would empty it, since it is UNLOGGED (or temporary): ALTER TABLE "
            + table + " SET LOGGED";
  }
}
