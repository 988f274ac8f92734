package io.holdfast.lock.jdbc;

import static io.holdfast.lock.testsupport.Claims.claim;
import static io.holdfast.lock.testsupport.Claims.freshKey;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.Product;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import io.holdfast.lock.testsupport.Logged;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Grants that a server has confirmed, and may forget by a crash or a failover. */
class ConfirmedTest {
  /** Far longer than the test takes, since commits wait for a standby that there is not. */
  private static final Duration LONG = Duration.ofMinutes(5);

  /** PostgreSQL 17: {@code canceling wait for synchronous replication due to user request}. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aGrantWhoseWaitForAStandbyWasCancelledIsNone(boolean autoCommit) throws Exception {
    try (HikariDataSource pool = Server.POSTGRES.pool(4, config -> {
          config.setAutoCommit(autoCommit);
          config.addDataSourceProperty("options", "-c synchronous_commit=on");
        });
        JdbcStore store = Stores.open(
            new JdbcStore.Settings(
                pool, JdbcLocks.DEFAULT_TABLE, SchemaMode.CREATE, !autoCommit, null),
            LONG);
        Connection admin = Server.POSTGRES.connect()) {
      setStandbys(admin, "nobody");
      try {
        CompletableFuture<StoreException> failure =
            CompletableFuture.supplyAsync(() -> takeUntilThatFails(store));
        Await.until("one was cancelled", () -> cancelWaits(admin) > 0);
        StoreException cancelled = failure.get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS);
        assertThat(cancelled).hasMessageContaining("canceling wait for synchronous replication");
        assertThat(cancelled.mayHaveHappened()).isTrue();
      } finally {
        setStandbys(admin, "");
      }
    }
  }

  /** The server heeds the setting a little later, so the first ones need not wait. */
  private static StoreException takeUntilThatFails(JdbcStore store) {
    while (true) {
      try {
        assertThat(store.tryAcquire(claim(freshKey()))).isPresent();
      } catch (StoreException e) {
        return e;
      }
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aServerThatWarnsAsASessionBeginsIsUsed(boolean autoCommit) throws Exception {
    String name = "warning_" + UUID.randomUUID().toString().replace("-", "");
    try (Connection admin = Server.POSTGRES.connect()) {
      execute(admin, "CREATE DATABASE " + name);
      // As after an update of the operating system.
      execute(admin, "UPDATE pg_database SET datcollversion = '0' WHERE datname = '" + name + "'");
      try (HikariDataSource pool = Server.POSTGRES.pool(4, config -> {
            config.setAutoCommit(autoCommit);
            config.setJdbcUrl(Server.POSTGRES.url().replace("/holdfast", "/" + name));
          });
          JdbcStore store = Stores.open(
              new JdbcStore.Settings(
                  pool, JdbcLocks.DEFAULT_TABLE, SchemaMode.CREATE, !autoCommit, null),
              Stores.STORE_TIMEOUT)) {
        pool.getHikariPoolMXBean().softEvictConnections();
        try (Connection warned = pool.getConnection()) {
          assertThat(String.valueOf(warned.getWarnings())).contains("collation version");
        }
        for (int i = 0; i < 4; i++) {
          pool.getHikariPoolMXBean().softEvictConnections(); // So that it uses a new one.
          Grant grant = store.tryAcquire(claim(freshKey())).orElseThrow();
          assertThat(store.renew(List.of(grant))).containsExactly(new Renewal.Renewed(Claims.TTL));
          assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
        }
      }
      execute(admin, "DROP DATABASE " + name);
    }
  }

  private static void setStandbys(Connection admin, String names) throws SQLException {
    execute(admin, "ALTER SYSTEM SET synchronous_standby_names = '" + names + "'");
    execute(admin, "SELECT pg_reload_conf()");
  }

  /** Cancels what waits for a standby; returns how many. */
  private static int cancelWaits(Connection admin) {
    try (Statement statement = admin.createStatement();
        ResultSet result = statement.executeQuery("SELECT count(pg_cancel_backend(pid))"
            + " FROM pg_stat_activity WHERE wait_event = 'SyncRep'")) {
      result.next();
      return result.getInt(1);
    } catch (SQLException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void aTableThatACrashWouldEmptyIsRefused() throws Exception {
    String table = "locks_" + UUID.randomUUID().toString().substring(0, 8);
    try (HikariDataSource pool = Server.POSTGRES.pool(3);
        Connection admin = Server.POSTGRES.connect()) {
      JdbcLocks.builder(pool).table(table).schema(SchemaMode.CREATE).build().close();
      execute(admin, "ALTER TABLE " + table + " SET UNLOGGED");
      assertThatThrownBy(() -> JdbcLocks.builder(pool).table(table).build())
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("SET LOGGED");
      execute(admin, "ALTER TABLE " + table + " SET LOGGED");
      JdbcLocks.builder(pool).table(table).build().close();
      execute(admin, "DROP TABLE " + table + ", " + table + "_waiter");
    }
  }

  @EachServer
  void settingsByWhichAServerForgetsWhatItConfirmedAreNamed(Server server) throws Exception {
    try (Connection connection = server.connect()) {
      List<String> risks = risks(connection);
      switch (server) {
        case POSTGRES -> {
          assertThat(risks).containsExactly("synchronous_commit=off, by any crash of the server");
          execute(connection, "SET synchronous_commit = 'local'");
          assertThat(risks(connection)).isEmpty();
        }
        case MYSQL ->
          assertThat(risks)
              .containsExactly(
                  "innodb_flush_log_at_trx_commit=2, by a crash of its machine",
                  "sync_binlog=0, by a crash of its machine");
        case H2 -> assertThat(risks).isEmpty();
        default ->
          assertThat(risks)
              .containsExactly("innodb_flush_log_at_trx_commit=2, by a crash of its machine");
      }
    }
  }

  @ParameterizedTest
  @CsvSource(nullValues = "hidden", delimiter = '|', textBlock = """
      1      | ON  | 1      |
      0      | ON  | 1      | innodb_flush_log_at_trx_commit=0, by any crash of the server
      1      | ON  | 0      | sync_binlog=0, by a crash of its machine
      1      | OFF | 0      |
      hidden | ON  | hidden |
      """)
  void eachSettingOfMySqlIsNamedOnlyWhereItIsKnown(
      String flush, String binaryLog, String sync, String risk) throws Exception {
    try (Connection connection = Server.MYSQL.connect();
        PreparedStatement told = connection.prepareStatement(
            "SELECT ? AS holdfast_innodb_flush_log_at_trx_commit, ? AS holdfast_log_bin,"
                + " ? AS holdfast_sync_binlog")) {
      told.setString(1, flush);
      told.setString(2, binaryLog);
      told.setString(3, sync);
      assertThat(risks(connection, told)).isEqualTo(risk == null ? List.of() : List.of(risk));
    }
  }

  @Test
  void aPostgresThatDoesNotWriteToDiskIsNamed() throws Exception {
    try (Connection connection = Server.POSTGRES.connect();
        PreparedStatement told = connection.prepareStatement(
            "SELECT 'on' AS holdfast_synchronous_commit, 'off' AS holdfast_fsync")) {
      assertThat(risks(connection, told))
          .containsExactly("fsync=off, by a crash of the server's machine");
    }
  }

  @EachRealServer
  void whoBuildsAClientIsWarnedOfThem(Server server) throws Exception {
    try (HikariDataSource pool = server.pool(3);
        Connection connection = server.connect()) {
      assertThat(Logged.during(
              () -> JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build().close()))
          .contains("WARN")
          .contains("can forget a lock that it has confirmed, so that two hold it: with "
              + String.join("; with ", risks(connection)));
    }
  }

  private static List<String> risks(Connection connection) throws SQLException {
    try (PreparedStatement asked =
        connection.prepareStatement(dialect(connection).facts().askServer())) {
      return risks(connection, asked);
    }
  }

  private static List<String> risks(Connection connection, PreparedStatement question)
      throws SQLException {
    try (ResultSet answer = question.executeQuery()) {
      answer.next();
      return dialect(connection).facts().risks(answer);
    }
  }

  private static Dialect dialect(Connection connection) throws SQLException {
    return Product.of(connection).dialect(JdbcLocks.DEFAULT_TABLE);
  }

  private static void execute(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }
}
