package io.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.UUID;

/** Two clients on one database, and a table of the application's. */
final class GuardFixture implements AutoCloseable {
  static final List<Integer> ISOLATIONS = List.of(
      Connection.TRANSACTION_READ_COMMITTED,
      Connection.TRANSACTION_REPEATABLE_READ,
      Connection.TRANSACTION_SERIALIZABLE);

  final HikariDataSource pool;
  final LockClient locks;
  final LockClient others;
  private final Connection connection;
  private final String table = "sold_" + UUID.randomUUID().toString().substring(0, 8);

  GuardFixture(Server server) throws SQLException {
    pool = server.pool(10);
    locks = client();
    others = client();
    connection = server.connect();
    execute("CREATE TABLE " + table + " (id INT)");
  }

  /** Whether a write to a lock's row would not have to wait. */
  static boolean isRowUnlocked(Server server, String name) throws SQLException {
    try (Connection connection = server.connect()) {
      connection.setAutoCommit(false);
      try (PreparedStatement select = Stores.prepare(
              connection,
              server,
              Stores.key(name),
              "SELECT 1 FROM holdfast_lock WHERE name = ? FOR UPDATE SKIP LOCKED");
          ResultSet result = select.executeQuery()) {
        return result.next();
      } finally {
        connection.rollback();
      }
    }
  }

  static String freshName() {
    return Stores.freshKey().name();
  }

  private LockClient client() {
    return JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build();
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

  /** Makes the transaction's snapshot. */
  void read(Connection transaction) throws SQLException {
    try (Statement statement = transaction.createStatement();
        ResultSet result = statement.executeQuery("SELECT COUNT(*) FROM " + table)) {
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
    connection.close();
    pool.close();
  }
}
