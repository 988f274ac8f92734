package io.holdfast.lock.jdbc.dialect;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The facts about MySQL, or MariaDB. */
final class MySqlFacts extends Facts {
  private static final Logger log = LoggerFactory.getLogger(MySqlFacts.class);

  private final String variables;

  /** @param variables the table that has the session's variables */
  MySqlFacts(String table, String variables) {
    super(table);
    this.variables = variables;
  }

  @Override
  String schema() {
    return "SELECT CONCAT('`', REPLACE(DATABASE(), '`', '``'), '`')";
  }

  @Override
  String ownSchema() {
    return "DATABASE()";
  }

  @Override
  String uniqueKeys() {
    return """
          SELECT COUNT(*) FROM (
            SELECT index_name FROM information_schema.statistics
            WHERE table_schema = {in schema}
              AND table_name = {in table} AND non_unique = 0
            GROUP BY index_name
            HAVING COUNT(*) = 1 AND MAX(LOWER(column_name)) = 'name' AND MAX(sub_part) IS NULL) u
          """;
  }

  @Override
  String columns() {
    return variables() + """
            , (SELECT COUNT(*) FROM information_schema.tables
              WHERE table_schema = {in schema}
                AND table_name = {in table} AND engine = 'InnoDB') AS holdfast_innodb
            """;
  }

  /**
   * Returns the columns with the server's variables, which are null if it shows none of that name.
   */
  private String variables() {
    return Stream.of(
            "version",
            "version_comment",
            "log_bin",
            "binlog_format",
            "sync_binlog",
            "innodb_flush_log_at_trx_commit")
        .map(name -> "(SELECT variable_value FROM %s WHERE variable_name = '%s') AS holdfast_%s"
            .formatted(variables, name, name))
        .collect(Collectors.joining(", "));
  }

  @Override
  public void checkServer(ResultSet answer) throws SQLException {
    for (String version : List.of("holdfast_version", "holdfast_version_comment")) {
      LookAlikes.refuse(Objects.requireNonNullElse(answer.getString(version), ""));
    }
    if ("ON".equalsIgnoreCase(answer.getString("holdfast_log_bin"))
        && "STATEMENT".equalsIgnoreCase(answer.getString("holdfast_binlog_format"))) {
      throw new IllegalStateException("The server has binlog_format=STATEMENT. Locks ask the clock"
          + " and pass over locked rows, which a replica would do with another outcome, and which"
          + " fails at READ COMMITTED: SET GLOBAL binlog_format = 'ROW' (the default; MIXED will"
          + " do, too), in the server's configuration as well, and open new connections");
    }
  }

  @Override
  public List<String> risks(ResultSet answer) throws SQLException {
    List<String> risks = new ArrayList<>();
    String flush = answer.getString("holdfast_innodb_flush_log_at_trx_commit");
    String sync = answer.getString("holdfast_sync_binlog");
    if (flush == null || sync == null) {
      log.debug("Whether the server keeps what it confirms is not known: it hides its variables");
    }
    if (flush != null && !flush.equals("1")) {
      String crash = flush.equals("0") ? "any crash of the server" : "a crash of its machine";
      risks.add("innodb_flush_log_at_trx_commit=" + flush + ", by " + crash);
    }
    if ("ON".equalsIgnoreCase(answer.getString("holdfast_log_bin"))
        && sync != null
        && !sync.equals("1")) {
      risks.add("sync_binlog=" + sync + ", by a crash of its machine");
    }
    return risks;
  }

  @Override
  public @Nullable String flaw(ResultSet answer) throws SQLException {
    return answer.getLong("holdfast_innodb") > 0
        ? super.flaw(answer)
        : "it must be a table, no view, and its engine must be InnoDB";
  }
}
