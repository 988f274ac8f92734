package io.holdfast.lock.bench.server;

import java.sql.SQLException;
import java.util.Map;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;

/** PostgreSQL with its defaults: a commit is on disk. */
public final class PostgresServer extends BenchServer {
  private final Sql sql;

  @SuppressWarnings("resource") // Closed by the superclass.
  public PostgresServer(int port) {
    super(
        new GenericContainer<>("postgres:17")
            .withEnv(Map.of("POSTGRES_PASSWORD", Sql.PASSWORD, "POSTGRES_DB", "bench"))
            .withCommand(
                "-p",
                Integer.toString(port),
                "-c",
                "max_connections=1500",
                "-c",
                "shared_preload_libraries=pg_stat_statements",
                "-c",
                "pg_stat_statements.track_utility=on",
                "-c",
                "pg_stat_statements.save=off"),
        Wait.defaultWaitStrategy(), // Connecting is tried until it succeeds.
        port,
        "jdbc:postgresql://" + HOST + ":" + port + "/bench?user=postgres&password=" + Sql.PASSWORD
            + "&sslmode=disable",
        "each commit on disk (synchronous_commit=on, fsync=on: the defaults)",
        "statements, commits included (pg_stat_statements)");
    this.sql = new Sql(url());
    sql.run("CREATE EXTENSION IF NOT EXISTS pg_stat_statements");
  }

  @Override
  public String version() throws SQLException {
    return "PostgreSQL " + sql.text("SHOW server_version");
  }

  @Override
  public long commands() throws SQLException {
    return Long.parseLong(sql.text("SELECT coalesce(sum(calls), 0) FROM pg_stat_statements"));
  }

  @Override
  public void close() {
    sql.close();
    super.close();
  }
}
