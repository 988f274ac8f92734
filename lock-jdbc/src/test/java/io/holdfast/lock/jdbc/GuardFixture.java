package io.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.testsupport.Claims;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.UUID;

/** Two clients on one database, and a table of the application's. */
final class GuardFixture implements AutoCloseable {
  static final Duration STORE_TIMEOUT = Duration.ofSeconds(5);

  static final List<Integer> ISOLATIONS = List.of(
      Connection.TRANSACTION_READ_COMMITTED,
      Connection.TRANSACTION_REPEATABLE_READ,
      Connection.TRANSACTION_SERIALIZABLE);

  final HikariDataSource pool;
  final LockClient locks;
  final LockClient others;
  private final Connection connection;
  private final String table = "sold_" + UUID.randomUUID().toString().substring(0, 8);
  private final String constant = table + "_constant";

  GuardFixture(Server server) throws SQLException {
    this(server, server.pool(10));
  }

  /** With an isolation level for all connections of the pool, those of the clients included. */
  GuardFixture(Server server, Isolation isolation) throws SQLException {
    this(server, server.pool(10, config -> config.setTransactionIsolation(isolation.jdbcName())));
  }

  private GuardFixture(Server server, HikariDataSource pool) throws SQLException {
    this.pool = pool;
    locks = client();
    others = client();
    connection = server.connect();
    execute("CREATE TABLE " + table + " (id INT)");
    execute("CREATE TABLE " + constant + " (id INT)");
  }

  /** Whether a write to a lock's row would not have to wait. */
  static boolean isRowUnlocked(Server server, String name) throws SQLException {
    try (Connection connection = server.connect()) {
      connection.setAutoCommit(false);
      try (PreparedStatement select = Stores.prepare(
              connection,
              server,
              Claims.key(name),
              "SELECT 1 FROM holdfast_lock WHERE name = ? FOR UPDATE SKIP LOCKED");
          ResultSet result = select.executeQuery()) {
        return result.next();
      } finally {
        connection.rollback();
      }
    }
  }

  static String freshName() {
    return Claims.freshKey().name();
  }

  private LockClient client() {
    return JdbcLocks.builder(pool)
        .storeTimeout(STORE_TIMEOUT)
        .schema(SchemaMode.CREATE)
        .build();
  }

  Connection begin(int isolation) throws SQLException {
    Connection transaction = pool.getConnection();
    transaction.setTransactionIsolation(isolation);
    transaction.setAutoCommit(false);
    return transaction;
  }

  void add(Connection transaction) throws SQLException {
    try (Statement statement = transaction.createStatement()) {
      assertThat(statement.executeUpdate("INSERT INTO " + table + " VALUES (1)"))
          .isEqualTo(1);
    }
  }

  /** The levels of JDBC. */
  enum Isolation {
    READ_UNCOMMITTED,
    READ_COMMITTED,
    REPEATABLE_READ,
    SERIALIZABLE;

    String jdbcName() {
      return "TRANSACTION_" + name();
    }
  }

  /** Changes every row, so that of two transactions that do one may be undone. */
  void change(Connection transaction) throws SQLException {
    try (Statement statement = transaction.createStatement()) {
      statement.executeUpdate("UPDATE " + table + " SET id = id + 1");
    }
  }

  /** The sum over all rows. */
  int sum() throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery("SELECT SUM(id) FROM " + table)) {
      result.next();
      return result.getInt(1);
    }
  }

  /** Makes the transaction's snapshot. */
  void read(Connection transaction) throws SQLException {
    read(transaction, table);
  }

  /** As {@link #read}, of data that nobody changes, so that no reader of it is in anybody's way. */
  void readElsewhere(Connection transaction) throws SQLException {
    read(transaction, constant);
  }

  private static void read(Connection transaction, String from) throws SQLException {
    try (Statement statement = transaction.createStatement();
        ResultSet result = statement.executeQuery("SELECT COUNT(*) FROM " + from)) {
      assertThat(result.next()).isTrue();
    }
  }

  Lease steal(String name, Lease from) {
    assertThat(others.get(name).forceRelease(from.token())).isTrue();
    return others.get(name).tryLock().orElseThrow();
  }

  int count() throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery("SELECT COUNT(*) FROM " + table)) {
      result.next();
      return result.getInt(1);
    }
  }

  private void execute(String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  @Override
  public void close() throws SQLException {
    others.close();
    locks.close();
    execute("DROP TABLE " + table);
    execute("DROP TABLE " + constant);
    connection.close();
    pool.close();
  }
}
