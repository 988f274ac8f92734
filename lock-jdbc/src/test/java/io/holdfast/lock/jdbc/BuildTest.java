package io.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockStoreException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A client that can't work is refused when it is built, and not when its first lock is used. */
class BuildTest {

  @ParameterizedTest
  @CsvSource({
    "MySQL, 8.0.11-TiDB-v8.5.0, jdbc:mysql://db:4000/app, TiDB",
    "PostgreSQL, 15.2-YB-2.25.0.0-b0, jdbc:postgresql://db:5433/app, YugabyteDB",
    "PostgreSQL, 16, jdbc:postgresql://a1.dsql.us-east-1.on.aws:5432/postgres, Aurora DSQL",
  })
  void aDatabaseThatOnlySpeaksLikeAKnownOneIsRefusedByItsName(
      String product, String version, String url, String name) {
    Map<String, String> answers = Map.of(
        "getDatabaseProductName", product, "getDatabaseProductVersion", version, "getURL", url);
    try (HikariDataSource pool = Server.H2.pool(3)) {
      Wrapper lookAlike = new Wrapper(pool) {
        @Override
        public Connection getConnection() throws SQLException {
          return answering(answers, wrapped.getConnection());
        }
      };
      assertThatThrownBy(() -> JdbcLocks.builder(lookAlike).build())
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining(name)
          .hasMessageContaining("not been tested");
      assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
    }
  }

  private static Connection answering(Map<String, String> answers, Connection connection) {
    return (Connection) Proxy.newProxyInstance(
        Connection.class.getClassLoader(),
        new Class<?>[] {Connection.class},
        (proxy, method, arguments) -> {
          Object result = method.invoke(connection, arguments);
          return result instanceof DatabaseMetaData metaData
              ? answering(answers, metaData)
              : result;
        });
  }

  private static DatabaseMetaData answering(
      Map<String, String> answers, DatabaseMetaData metaData) {
    return (DatabaseMetaData) Proxy.newProxyInstance(
        Connection.class.getClassLoader(),
        new Class<?>[] {DatabaseMetaData.class},
        (proxy, method, arguments) -> {
          String answer = answers.get(method.getName());
          return answer == null ? method.invoke(metaData, arguments) : answer;
        });
  }

  /** Its version number is one of PostgreSQL's, so only the function tells. */
  @Test
  void cockroachDbIsRefusedByWhatItsFunctionSays() throws Exception {
    String schema = "fake_" + UUID.randomUUID().toString().substring(0, 8);
    try (Connection admin = Server.POSTGRES.connect()) {
      execute(admin, "CREATE SCHEMA " + schema);
      execute(
          admin,
          "CREATE FUNCTION "
              + schema
              + ".version() RETURNS text LANGUAGE sql"
              + " AS $$ SELECT 'CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu)' $$");
      try (HikariDataSource pool = Server.POSTGRES.pool(
          3,
          config -> config.setConnectionInitSql(
              "SET search_path = " + schema + ", pg_catalog, public"))) {
        assertThatThrownBy(() -> JdbcLocks.builder(pool).build())
            .isInstanceOf(IllegalStateException.class)
            .hasMessageContaining("CockroachDB");
      }
      execute(admin, "DROP SCHEMA " + schema + " CASCADE");
    }
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void aMySqlThatReplicatesByStatementIsRefusedWithTheRemedy() throws Exception {
    refusesStatementFormat(KitContainer.mySql("--binlog-format=STATEMENT"));
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void aMariaDbThatReplicatesByStatementIsRefusedWithTheRemedy() throws Exception {
    refusesStatementFormat(KitContainer.mariaDb("--log-bin", "--binlog-format=STATEMENT"));
  }

  private static void refusesStatementFormat(KitContainer server) throws Exception {
    try (server) {
      HikariConfig config = new HikariConfig();
      config.setJdbcUrl(server.url());
      config.setUsername(server.user());
      config.setPassword(server.password());
      config.setMaximumPoolSize(3);
      try (HikariDataSource pool = new HikariDataSource(config);
          Connection admin = pool.getConnection()) {
        assertThatThrownBy(() -> client(pool).build())
            .isInstanceOf(IllegalStateException.class)
            .hasMessageContaining("binlog_format=STATEMENT")
            .hasMessageContaining("ROW");
        execute(admin, "SET GLOBAL binlog_format = 'ROW'");
      }
      try (HikariDataSource pool = new HikariDataSource(config)) {
        client(pool).build().close();
      }
    }
  }

  @Test
  void aDatabaseUserWhoCanTakeALockButNotFreeItIsRefused() throws Exception {
    String role = "app_" + UUID.randomUUID().toString().substring(0, 8);
    try (Connection admin = Server.POSTGRES.connect();
        HikariDataSource all = Server.POSTGRES.pool(3)) {
      client(all).build().close();
      execute(admin, "CREATE ROLE " + role + " LOGIN PASSWORD 'holdfast'");
      execute(admin, "GRANT SELECT, INSERT, UPDATE ON holdfast_lock TO " + role);
      execute(admin, "GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast_lock_waiter TO " + role);
      // A release notifies who waits. The other tests' user is not bound by rights.
      execute(admin, "REVOKE EXECUTE ON FUNCTION pg_notify(text, text) FROM PUBLIC");
      try (HikariDataSource pool = Server.POSTGRES.pool(3, config -> config.setUsername(role))) {
        assertThatThrownBy(() -> JdbcLocks.builder(pool).build())
            .isInstanceOf(LockStoreException.class)
            .hasMessageContaining("trial")
            .hasMessageContaining("pg_notify");
        execute(admin, "GRANT EXECUTE ON FUNCTION pg_notify(text, text) TO PUBLIC");
        JdbcLocks.builder(pool).build().close();
      } finally {
        execute(admin, "GRANT EXECUTE ON FUNCTION pg_notify(text, text) TO PUBLIC");
        execute(admin, "DROP OWNED BY " + role);
        execute(admin, "DROP ROLE " + role);
      }
    }
  }

  @EachServer
  void theTrialOfManyClientsLeavesOneRowAndNoLock(Server server) throws Exception {
    String table = "trial_" + UUID.randomUUID().toString().substring(0, 8);
    try (HikariDataSource pool = server.pool(3);
        Connection admin = server.connect()) {
      for (int i = 0; i < 3; i++) {
        try (LockClient locks = client(pool).table(table).build()) {
          assertThat(locks.list("", 10)).isEmpty();
        }
      }
      assertThat(count(admin, table + " WHERE expires_at > 0")).isZero();
      assertThat(count(admin, table)).isEqualTo(2); // The version's, and the trial's.
      execute(admin, "DROP TABLE " + table);
      execute(admin, "DROP TABLE " + table + "_waiter");
    }
  }

  @Test
  void aSecondConnectionWithoutAutoCommitIsRefusedAsTheFirstIs() {
    try (HikariDataSource pool = Server.H2.pool(3)) {
      AtomicInteger lent = new AtomicInteger();
      Wrapper changing = new Wrapper(pool) {
        @Override
        public Connection getConnection() throws SQLException {
          Connection connection = wrapped.getConnection();
          connection.setAutoCommit(lent.incrementAndGet() % 2 == 1);
          return connection;
        }
      };
      JdbcLocks.Builder builder = JdbcLocks.builder(changing);
      assertThatThrownBy(builder::build)
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("without autocommit");
      assertThatThrownBy(() -> builder.purge(Duration.ofDays(1)))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("without autocommit");
      assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
    }
  }

  @Test
  void aPoolThatFailsIsNotTakenToBeUnfit() {
    try (HikariDataSource pool = Server.H2.pool(3)) {
      Wrapper failing = new Wrapper(pool) {
        @Override
        public Connection getConnection() {
          throw new IllegalStateException("made up");
        }
      };
      JdbcLocks.Builder builder = JdbcLocks.builder(failing);
      assertThatThrownBy(builder::build).isInstanceOf(LockStoreException.class);
      assertThatThrownBy(() -> builder.purge(Duration.ofDays(1)))
          .isInstanceOf(LockStoreException.class);
    }
  }

  private static JdbcLocks.Builder client(HikariDataSource pool) {
    return JdbcLocks.builder(pool).schema(SchemaMode.CREATE);
  }

  private static int count(Connection connection, String from) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery("SELECT COUNT(*) FROM " + from)) {
      result.next();
      return result.getInt(1);
    }
  }

  private static void execute(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }
}
