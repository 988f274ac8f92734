package io.holdfast.lock.bench.server;

import java.sql.SQLException;
import java.util.Map;
import org.testcontainers.containers.GenericContainer;

/** MySQL with its defaults: a commit is on disk, in both the redo log and the binary log. */
public final class MySqlServer extends BenchServer {
  private final Sql sql;

  @SuppressWarnings("resource") // Closed by the superclass.
  public MySqlServer(int port) {
    super(
        new GenericContainer<>("mysql:9")
            .withEnv(Map.of("MYSQL_ROOT_PASSWORD", Sql.PASSWORD, "MYSQL_DATABASE", "bench"))
            .withCommand("--port=" + port, "--mysqlx=OFF", "--max-connections=1500"),
        logged(".*ready for connections.*port: " + port + ".*"),
        port,
        "jdbc:mysql://" + HOST + ":" + port + "/bench?user=root&password=" + Sql.PASSWORD
            + "&sslMode=DISABLED&allowPublicKeyRetrieval=true"
            + "&useServerPrepStmts=true&cachePrepStmts=true&prepStmtCacheSqlLimit=2048",
        "each commit on disk (innodb_flush_log_at_trx_commit=1, sync_binlog=1: the defaults)",
        "statements, commits and settings included (Questions)");
    this.sql = new Sql(url());
  }

  @Override
  public String version() throws SQLException {
    return "MySQL " + sql.text("SELECT version()");
  }

  @Override
  public long commands() throws SQLException {
    return Long.parseLong(sql.text("SELECT variable_value FROM performance_schema.global_status"
        + " WHERE variable_name = 'Questions'"));
  }

  @Override
  public void close() {
    sql.close();
    super.close();
  }
}
