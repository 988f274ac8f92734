package io.holdfast.lock.torture;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.jdbc.JdbcGuard;
import io.holdfast.lock.jdbc.JdbcLocks;
import io.holdfast.lock.jdbc.SchemaMode;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/** A pool of connections to a database, and logs in a table of it. */
final class SqlAccess implements Access {
  static final String PASSWORD = "torture";
  static final String DATABASE = "torture";
  static final String MARIADB_USER = "torture";

  /** Three threads, each with a transaction of its own, and the client's two. */
  private static final int POOL_SIZE = 8;

  private static final int UNDOING_TRIES = 5;

  private final StoreKind store;
  private final HikariDataSource pool;

  SqlAccess(StoreKind store, Address server) {
    this.store = store;
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(url(store, server));
    config.setUsername(user(store));
    config.setPassword(PASSWORD);
    config.setMaximumPoolSize(POOL_SIZE);
    config.setMinimumIdle(2);
    config.setConnectionTimeout(StoreKind.STORE_TIMEOUT.toMillis());
    config.setValidationTimeout(StoreKind.STORE_TIMEOUT.toMillis() / 2);
    config.setInitializationFailTimeout(-1);
    this.pool = new HikariDataSource(config);
  }

  /** Returns the user; on MariaDB not root, who has no password from this machine. */
  private static String user(StoreKind store) {
    return switch (store) {
      case POSTGRES, POSTGRES_2 -> "postgres";
      case MYSQL, MYSQL_2 -> "root";
      default -> MARIADB_USER;
    };
  }

  /** Returns the URL, with socket timeouts: a guarded write must not hang for ever. */
  private static String url(StoreKind store, Address server) {
    return switch (store) {
      case POSTGRES, POSTGRES_2 ->
        "jdbc:postgresql://" + server + "/" + DATABASE
            + "?connectTimeout=1&socketTimeout=10&sslmode=disable";
      case MYSQL, MYSQL_2 ->
        "jdbc:mysql://" + server + "/" + DATABASE + "?connectTimeout=1000&socketTimeout=10000"
            + "&sslMode=DISABLED&allowPublicKeyRetrieval=true";
      default ->
        "jdbc:mariadb://" + server + "/" + DATABASE + "?connectTimeout=1000&socketTimeout=10000";
    };
  }

  /** Opens a connection for an administrator. */
  static Connection connect(StoreKind store, Address server) throws SQLException {
    return DriverManager.getConnection(url(store, server), user(store), PASSWORD);
  }

  @Override
  public LockClientBuilder<?> newClient() {
    return JdbcLocks.builder(pool).schema(SchemaMode.CREATE);
  }

  @Override
  public void prepare(List<String> names) throws SQLException {
    String id = store == StoreKind.POSTGRES || store == StoreKind.POSTGRES_2
        ? "id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
        : "id BIGINT AUTO_INCREMENT PRIMARY KEY";
    try (Connection connection = pool.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute("CREATE TABLE IF NOT EXISTS torture_log (" + id
          + ", lock_name VARCHAR(200), entry VARCHAR(200))");
    }
  }

  @Override
  public void write(Lease lease, String entry) throws SQLException {
    JdbcGuard.inTransaction(lease, pool, UNDOING_TRIES, transaction -> {
      try (PreparedStatement insert = transaction.prepareStatement(
          "INSERT INTO torture_log (lock_name, entry) VALUES (?, ?)")) {
        insert.setString(1, lease.name());
        insert.setString(2, entry);
        insert.executeUpdate();
      }
    });
  }

  @Override
  public boolean leavesOpen(Exception failure) {
    return failure instanceof SQLException || failure instanceof LockStoreException;
  }

  @Override
  public List<String> written(String name) throws SQLException {
    return select("SELECT entry FROM torture_log WHERE lock_name = ? ORDER BY id", name);
  }

  /** Returns the first column of a query's rows. */
  private List<String> select(String query, Object parameter) throws SQLException {
    List<String> values = new ArrayList<>();
    try (Connection connection = pool.getConnection();
        PreparedStatement select = connection.prepareStatement(query)) {
      select.setObject(1, parameter);
      try (ResultSet result = select.executeQuery()) {
        while (result.next()) {
          values.add(result.getString(1));
        }
      }
    }
    return values;
  }

  /**
   * Returns the waiters that count as alive. The row of another, of a client that crashed or could
   * not delete it, stays until a purge.
   */
  @Override
  public List<String> leftovers(String namePrefix) throws SQLException {
    long nowMicros = System.currentTimeMillis() * 1_000; // The server is on this machine.
    String waiters =
        "SELECT CONCAT(name, ': ', holder) FROM holdfast_lock_waiter WHERE alive_until > ?";
    return select(waiters, nowMicros).stream()
        .filter(waiter -> waiter.contains(namePrefix))
        .map(waiter -> "waiter for " + waiter)
        .toList();
  }

  @Override
  public void close() {
    pool.close();
  }
}
