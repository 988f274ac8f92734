package io.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.ReadLease;
import io.holdfast.lock.ReadWriteClient;
import io.holdfast.lock.jdbc.dialect.Dialect;
import io.holdfast.lock.jdbc.dialect.Product;
import io.holdfast.lock.testsupport.Await;
import java.lang.reflect.Proxy;
import java.net.SocketTimeoutException;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A client's errors about a table that is not as it needs it. */
class SchemaTest {

  private static String freshTable() {
    return "locks_" + UUID.randomUUID().toString().substring(0, 8);
  }

  @EachServer
  void aMissingTableIsAnErrorThatNamesTheScript(Server server) {
    String table = freshTable();
    try (HikariDataSource pool = server.pool(3)) {
      assertThatThrownBy(() -> JdbcLocks.builder(pool).table(table).build())
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining(table)
          .hasMessageContaining("io/holdfast/lock/jdbc/schema/")
          .hasMessageContaining(".sql");
      assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
    }
  }

  @EachServer
  void aMissingTableIsNoReasonToBreakAConnection(Server server) {
    List<String> broken = new ArrayList<>();
    try (HikariDataSource pool = server.pool(3)) {
      DataSource watched = new Wrapper(pool) {
        @Override
        public Connection getConnection() throws SQLException {
          return noting(broken, pool.getConnection());
        }
      };
      assertThatThrownBy(() -> JdbcLocks.builder(watched).table(freshTable()).build())
          .isInstanceOf(IllegalStateException.class);
    }
    assertThat(broken).isEmpty();
  }

  /** Notes each call of {@code abort}, at which a pool warns of a broken connection. */
  private static Connection noting(List<String> broken, Connection connection) {
    return (Connection) Proxy.newProxyInstance(
        Connection.class.getClassLoader(),
        new Class<?>[] {Connection.class},
        (proxy, method, arguments) -> {
          if (method.getName().equals("abort")) {
            broken.add(connection.toString());
          }
          return method.invoke(connection, arguments);
        });
  }

  @EachRealServer
  void aTableThatIsLockedIsToldAsWhatItIs(Server server) throws Exception {
    String table = freshTable();
    try (HikariDataSource pool = server.pool(3);
        Connection locking = server.connect()) {
      JdbcLocks.builder(pool).table(table).schema(SchemaMode.CREATE).build().close();
      locking.setAutoCommit(false);
      execute(
          locking,
          server == Server.POSTGRES
              ? "LOCK TABLE " + table + " IN ACCESS EXCLUSIVE MODE"
              : "LOCK TABLES " + table + " WRITE");
      assertThatThrownBy(() -> JdbcLocks.builder(pool)
              .table(table)
              .storeTimeout(Duration.ofSeconds(1))
              .defaultOptions(LockOptions.renewed(Duration.ofSeconds(10)))
              .build())
          .isInstanceOf(LockStoreException.class)
          .hasRootCauseInstanceOf(SocketTimeoutException.class);
      locking.rollback();
    }
  }

  @EachServer
  void aTableWhoseNameIsAWordOfSqlIsRefusedForThat(Server server) {
    try (HikariDataSource pool = server.pool(3)) {
      for (SchemaMode mode : List.of(SchemaMode.VALIDATE, SchemaMode.CREATE)) {
        assertThatThrownBy(
                () -> JdbcLocks.builder(pool).table("order").schema(mode).build())
            .isInstanceOf(IllegalStateException.class)
            .hasMessageContaining("'order' is a word of its language")
            .hasMessageContaining("table(...)");
      }
    }
  }

  @EachServer
  void theShippedScriptMakesATableThatValidatesAndMayRunAgain(Server server) throws Exception {
    try (HikariDataSource pool = server.pool(3);
        Connection connection = server.connect()) {
      String table = freshTable();
      Dialect dialect = Product.of(connection).dialect(table);
      for (int run = 0; run < 2; run++) {
        for (String sql : Schema.statements(dialect, Schema.script(dialect))) {
          execute(connection, sql);
        }
      }
      try (LockClient locks = JdbcLocks.builder(pool).table(table).build();
          Lease lease = locks.get("a").lock()) {
        lease.verify();
      }
      execute(connection, "DROP TABLE " + table);
      execute(connection, "DROP TABLE " + table + "_waiter");
    }
  }

  @EachServer
  void tablesWithoutReadersGetTheirColumnsWhileALockIsHeld(Server server) throws Exception {
    String table = freshTable();
    try (HikariDataSource pool = server.pool(16);
        Connection connection = server.connect();
        LockClient older =
            JdbcLocks.builder(pool).table(table).schema(SchemaMode.CREATE).build()) {
      try (Lease held = older.get("a").lock()) {
        execute(connection, "ALTER TABLE " + table + " DROP COLUMN readers");
        execute(connection, "ALTER TABLE " + table + "_waiter DROP COLUMN mode");
        assertThatThrownBy(() -> JdbcLocks.builder(pool).table(table).build())
            .isInstanceOf(IllegalStateException.class)
            .hasMessageContaining("columns for read-write locks")
            .hasMessageContaining("-readers.sql");

        // Several at once: each finds its columns, whoever adds them. One after the other on H2,
        // where a table is gone for others while it is altered.
        ExecutorService executor = Executors.newFixedThreadPool(server == Server.H2 ? 1 : 3);
        List<Future<LockClient>> building = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
          building.add(executor.submit(() -> JdbcLocks.builder(pool)
              .table(table)
              .schema(SchemaMode.CREATE)
              .storeTimeout(Duration.ofSeconds(10))
              .build()));
        }
        for (Future<LockClient> client : building) {
          try (LockClient newer = client.get(60, TimeUnit.SECONDS)) {
            assertThat(newer.get("a").tryLock()).isEmpty();
            try (ReadLease read =
                ((ReadWriteClient) newer).readWrite("b").read().lock()) {
              read.verify();
            }
          }
        }
        executor.shutdown();
        held.verify();
      }
      Dialect dialect = Product.of(connection).dialect(table);
      for (String sql : Schema.statements(dialect, Schema.script(dialect))) {
        execute(connection, sql);
      }
    }
  }

  @EachRealServer
  void aTransactionThatIsInTheWayOfNewColumnsIsNotWaitedForForEver(Server server) throws Exception {
    String table = freshTable();
    try (HikariDataSource pool = server.pool(6);
        Connection connection = server.connect();
        Connection transaction = server.connect()) {
      JdbcLocks.builder(pool).table(table).schema(SchemaMode.CREATE).build().close();
      execute(connection, "ALTER TABLE " + table + " DROP COLUMN readers");
      transaction.setAutoCommit(false);
      execute(transaction, "SELECT number FROM " + table + " FOR UPDATE");
      Dialect dialect = Product.of(connection).dialect(table);
      List<String> script = List.of(Schema.statements(dialect, Schema.readersScript(dialect)));

      List<String> refusals = new ArrayList<>();
      for (String sql : script) {
        try {
          execute(connection, dialect.limitedDdl(sql));
        } catch (SQLException e) {
          refusals.add(e.getMessage().toLowerCase(Locale.ROOT));
        }
      }
      assertThat(refusals.get(0)).containsAnyOf("lock timeout", "lock wait timeout");
      transaction.rollback();
      JdbcLocks.builder(pool).table(table).schema(SchemaMode.CREATE).build().close();
    }
  }

  @EachServer
  void severalClientsMayCreateTheTableAtOnce(Server server) throws Exception {
    String table = freshTable();
    try (HikariDataSource pool = server.pool(12, config -> config.setMinimumIdle(12))) {
      Await.until("the pool is full", () -> pool.getHikariPoolMXBean().getIdleConnections() == 12);
      ExecutorService executor = Executors.newFixedThreadPool(5);
      List<Future<?>> clients = new ArrayList<>();
      for (int i = 0; i < 5; i++) {
        clients.add(executor.submit(() -> JdbcLocks.builder(pool)
            .table(table)
            .schema(SchemaMode.CREATE)
            .storeTimeout(Duration.ofSeconds(10))
            .build()
            .close()));
      }
      for (Future<?> client : clients) {
        client.get(30, TimeUnit.SECONDS);
      }
      executor.shutdown();
      JdbcLocks.builder(pool).table(table).build().close();
    }
  }

  @EachServer
  void aTableInAnotherSchemaIsFoundByItsFullName(Server server) throws Exception {
    String schema = "other_" + UUID.randomUUID().toString().substring(0, 8);
    try (HikariDataSource pool = server.pool(3);
        Connection connection = server.connect()) {
      execute(connection, "CREATE SCHEMA " + schema);
      String table = schema + ".locks";
      try (LockClient locks =
              JdbcLocks.builder(pool).table(table).schema(SchemaMode.CREATE).build();
          Lease lease = locks.get("a").lock()) {
        lease.verify();
      }
      JdbcLocks.builder(pool).table(table).build().close();
      execute(connection, "DROP TABLE " + table);
      execute(connection, "DROP TABLE " + table + "_waiter");
      execute(connection, "DROP SCHEMA " + schema);
    }
  }

  @EachServer
  void eachFlawOfATableIsTold(Server server) throws Exception {
    String bigint = "MODIFY number INT NOT NULL";
    String inexact = "MODIFY name VARCHAR(200) NOT NULL";
    if (server == Server.H2) {
      bigint = "ALTER COLUMN number INT";
      inexact = "ALTER COLUMN name VARCHAR(200)";
    } else if (server == Server.POSTGRES) {
      bigint = "ALTER COLUMN number TYPE integer";
      inexact = "ALTER COLUMN name TYPE char(200)";
    }
    try (HikariDataSource pool = server.pool(3);
        Connection connection = server.connect()) {
      String noKey =
          server == Server.POSTGRES ? "DROP CONSTRAINT {table}_pkey" : "DROP PRIMARY KEY";
      assertFlaw(pool, connection, "ALTER TABLE {table} " + noKey, "no unique key");
      assertFlaw(pool, connection, "ALTER TABLE {table} DROP COLUMN guarded", "no column guarded");
      assertFlaw(pool, connection, "ALTER TABLE {table} DROP COLUMN holder", "no column holder");
      assertFlaw(pool, connection, "UPDATE {table} SET number = 1", "version is 1");
      assertFlaw(pool, connection, "DELETE FROM {table}", "no row that tells its version");
      assertFlaw(pool, connection, "ALTER TABLE {table} " + inexact, "two names for one");
      if (server == Server.POSTGRES) {
        // This type cuts off what is longer than 63 bytes.
        String cut = "ALTER COLUMN name TYPE name";
        assertFlaw(pool, connection, "ALTER TABLE {table} " + cut, "no unique key");
      }
      if (server.isMySqlFamily()) {
        assertFlaw(pool, connection, "ALTER TABLE {table} ENGINE = MyISAM", "must be InnoDB");
      }
      assertFlaw(pool, connection, "ALTER TABLE {table} " + bigint, "number of type BIGINT");
    }
  }

  @Test
  void onPostgresTheNamesMayBeOfADomain() throws Exception {
    String table = freshTable();
    try (HikariDataSource pool = Server.POSTGRES.pool(3);
        Connection connection = Server.POSTGRES.connect()) {
      JdbcLocks.builder(pool).table(table).schema(SchemaMode.CREATE).build().close();
      execute(connection, "CREATE DOMAIN " + table + "_name AS text COLLATE \"C\"");
      execute(connection, "ALTER TABLE %1$s ALTER COLUMN name TYPE %1$s_name".formatted(table));
      try (LockClient locks = JdbcLocks.builder(pool).table(table).build();
          Lease lease = locks.get("a").lock()) {
        lease.verify();
      }
    }
  }

  private static void assertFlaw(
      HikariDataSource pool, Connection connection, String change, String told) throws Exception {
    String table = freshTable();
    JdbcLocks.builder(pool).table(table).schema(SchemaMode.CREATE).build().close();
    // The row of the client's trial, whose number is no INT.
    execute(connection, "DELETE FROM " + table + " WHERE number > 2");
    execute(connection, change.replace("{table}", table));
    assertThatThrownBy(() -> JdbcLocks.builder(pool).table(table).build())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining(told);
    execute(connection, "DROP TABLE " + table);
    execute(connection, "DROP TABLE " + table + "_waiter");
  }

  @Test
  void withoutACheckAMissingTableShowsAtTheFirstUse() {
    try (HikariDataSource pool = Server.H2.pool(3);
        LockClient locks =
            JdbcLocks.builder(pool).table(freshTable()).schema(SchemaMode.NONE).build()) {
      assertThatThrownBy(() -> locks.get("a").tryLock()).isInstanceOf(LockStoreException.class);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "1a", "a-b", "a b", "a;b", "a.b.c", ".a", "a.", "a'", "a\"b", "\u00e4", "a\n"})
  void aTableThatIsNoIdentifierIsRefused(String table) {
    try (HikariDataSource pool = Server.H2.pool(2)) {
      assertThatThrownBy(() -> JdbcLocks.builder(pool).table(table))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> TransactionLock.inTable(table))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> JdbcLocks.builder(pool).table("a".repeat(64)))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void anUnknownDatabaseIsRefusedWithAListOfTheKnownOnes() {
    try (HikariDataSource pool = Server.H2.pool(3)) {
      Wrapper unknown = new Wrapper(pool) {
        @Override
        public Connection getConnection() throws SQLException {
          return callingItself("SuperBase", wrapped.getConnection());
        }
      };
      assertThatThrownBy(() -> JdbcLocks.builder(unknown).build())
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("SuperBase")
          .hasMessageContaining("MySQL, MariaDB, PostgreSQL and H2");
      assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
    }
  }

  private static Connection callingItself(String product, Connection connection) {
    return (Connection) Proxy.newProxyInstance(
        Connection.class.getClassLoader(),
        new Class<?>[] {Connection.class},
        (proxy, method, arguments) -> {
          Object result = method.invoke(connection, arguments);
          return result instanceof DatabaseMetaData metaData
              ? callingItself(product, metaData)
              : result;
        });
  }

  private static DatabaseMetaData callingItself(String product, DatabaseMetaData metaData) {
    return (DatabaseMetaData) Proxy.newProxyInstance(
        Connection.class.getClassLoader(),
        new Class<?>[] {DatabaseMetaData.class},
        (proxy, method, arguments) -> method.getName().equals("getDatabaseProductName")
            ? product
            : method.invoke(metaData, arguments));
  }

  private static void execute(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }
}
