package io.holdfast.lock.bench;

import java.sql.SQLException;
import java.util.Map;
import org.testcontainers.containers.GenericContainer;

/** MySQL with its defaults: a commit is on disk, in the log and in the binary log. */
final class MySqlServer extends BenchServer {
  private final Sql sql;
  private final String url;

  MySqlServer() {
    this(freePort());
  }

  @SuppressWarnings("resource") // Closed by the superclass.
  private MySqlServer(int port) {
    super(
        new GenericContainer<>("mysql:9")
            .withEnv(Map.of("MYSQL_ROOT_PASSWORD", Sql.PASSWORD, "MYSQL_DATABASE", "bench"))
            .withCommand("--port=" + port, "--mysqlx=OFF", "--max-connections=1500"),
        logged(".*ready for connections.*port: " + port + ".*"),
        "each commit on disk (innodb_flush_log_at_trx_commit=1, sync_binlog=1: the defaults)");
    this.url = "jdbc:mysql://127.0.0.1:" + port + "/bench?user=root&password=" + Sql.PASSWORD
        + "&sslMode=DISABLED&allowPublicKeyRetrieval=true"
        + "&useServerPrepStmts=true&cachePrepStmts=true&prepStmtCacheSqlLimit=2048";
    this.sql = new Sql(url);
  }

  @Override
  String url() {
    return url;
  }

  @Override
  String version() throws SQLException {
    return "MySQL " + sql.text("SELECT version()");
  }

  @Override
  String counted() {
    return "statements, commits and settings included (Questions)";
  }

  @Override
  long commands() throws SQLException {
    return Long.parseLong(sql.text("SELECT variable_value FROM performance_schema.global_status"
        + " WHERE variable_name = 'Questions'"));
  }

  @Override
  public void close() {
    sql.close();
    super.close();
  }
}
