package io.holdfast.lock.jdbc.dialect;

import java.sql.ResultSet;

/** The facts about H2. */
final class H2Facts extends Facts {
  H2Facts(String table) {
    super(table);
  }

  @Override
  String columns() {
    return "0 AS holdfast_facts";
  }

  @Override
  String schema() {
    return "SELECT QUOTE_IDENT(CURRENT_SCHEMA)";
  }

  @Override
  String ownSchema() {
    return "CURRENT_SCHEMA";
  }

  @Override
  String uniqueKeys() {
    return """
          SELECT COUNT(*) FROM (
            SELECT MAX(c.index_name) FROM information_schema.index_columns c
            WHERE UPPER(c.table_schema) = UPPER({in schema})
              AND UPPER(c.table_name) = UPPER({in table}) AND c.is_unique
            GROUP BY c.index_schema, c.index_name
            HAVING COUNT(*) = 1 AND UPPER(MAX(c.column_name)) = 'NAME')
          """;
  }

  @Override
  String version() {
    // The column may be of another type, which is a flaw, and no failure.
    return "CAST(l.name AS VARBINARY) = X'76657273696f6e'";
  }

  @Override
  public void checkServer(ResultSet answer) {}
}
