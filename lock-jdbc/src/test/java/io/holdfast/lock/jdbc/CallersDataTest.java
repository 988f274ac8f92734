package io.holdfast.lock.jdbc;

import static io.holdfast.lock.testsupport.Claims.claim;
import static io.holdfast.lock.testsupport.Claims.freshKey;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.transaction.support.TransactionTemplate;

/** Whatever the caller's transactions and pools are like: nothing of theirs is ever committed. */
class CallersDataTest {

  @EachServer
  void aLockInTheMiddleOfATransactionCommitsNothingOfIt(Server server) throws Exception {
    try (HikariDataSource pool = server.pool(4);
        LockClient locks = JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build();
        Payouts payouts = new Payouts(server)) {
      try (Connection transaction = pool.getConnection()) {
        transaction.setAutoCommit(false);
        payouts.add(transaction);
        try (Lease lease = locks.get(freshKey().name()).lock()) {
          payouts.add(transaction);
          lease.verify();
        }
        transaction.rollback();
        transaction.setAutoCommit(true);
      }
      assertThat(payouts.count()).isZero();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aReleaseThatDoesNotWaitForTheDiskLeavesTheSessionAsItWas(boolean autoCommit)
      throws Exception {
    // One is the client's own, so the other is the one that was released on.
    try (HikariDataSource pool = Server.POSTGRES.pool(2, config -> {
      config.setAutoCommit(autoCommit);
      config.addDataSourceProperty("options", "-c synchronous_commit=on");
    })) {
      JdbcLocks.Builder builder = JdbcLocks.builder(pool).schema(SchemaMode.CREATE);
      try (LockClient locks = (autoCommit ? builder : builder.rawPoolWithoutAutoCommit()).build()) {
        locks.get(freshKey().name()).run(lease -> assertThat(lease.isHeld()).isTrue());
        try (Connection connection = pool.getConnection();
            Statement statement = connection.createStatement();
            ResultSet setting = statement.executeQuery("SHOW synchronous_commit")) {
          assertThat(setting.next()).isTrue();
          assertThat(setting.getString(1)).isEqualTo("on");
        }
      }
    }
  }

  @EachServer
  void aPoolWithoutAutoCommitIsRefusedUnlessItIsAffirmed(Server server) throws Exception {
    try (HikariDataSource pool = server.pool(4, config -> config.setAutoCommit(false))) {
      JdbcLocks.Builder builder = JdbcLocks.builder(pool).schema(SchemaMode.CREATE);
      assertThatThrownBy(builder::build)
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("rawPoolWithoutAutoCommit()");

      try (LockClient locks = builder.rawPoolWithoutAutoCommit().build();
          HikariDataSource otherPool = server.pool(4);
          JdbcStore other = Stores.open(otherPool)) {
        LockKey key = freshKey();
        try (Lease lease = locks.get(key.name()).lock()) {
          // Another session sees it, so it was committed.
          assertThat(other.tryAcquire(claim(key))).isEmpty();
          lease.verify();
        }
        assertThat(other.tryAcquire(claim(key))).isPresent();
      }
      Await.until(
          "every connection is back", () -> pool.getHikariPoolMXBean().getActiveConnections() == 0);
    }
  }

  @EachServer
  void theWholeProtocolWorksWithoutAutoCommit(Server server) throws Exception {
    try (HikariDataSource pool = server.pool(4, config -> config.setAutoCommit(false));
        JdbcStore store = Stores.open(
            new JdbcStore.Settings(pool, JdbcLocks.DEFAULT_TABLE, SchemaMode.CREATE, true, null),
            Stores.STORE_TIMEOUT);
        HikariDataSource otherPool = server.pool(4);
        JdbcStore other = Stores.open(otherPool)) {
      LockKey key = freshKey();
      Grant grant = store.tryAcquire(claim(key)).orElseThrow();
      assertThat(store.tryAcquire(claim(key))).isEmpty();
      assertThat(store.renew(List.of(grant))).containsExactly(new Renewal.Renewed(Claims.TTL));
      assertThat(other.verify(grant)).isPresent();
      CountDownLatch woken = new CountDownLatch(1);
      var queued = (Acquisition.Queued) store.acquireOrQueue(claim(key), woken::countDown);
      assertThat(other.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      assertThat(woken.await(20, TimeUnit.SECONDS)).isTrue();
      assertThat(queued.ticket().poll()).isInstanceOf(Ticket.Granted.class);
    }
  }

  @EachServer
  void strictIsolationOfThePoolLetsNoErrorThrough(Server server) throws Exception {
    for (String isolation : List.of("TRANSACTION_REPEATABLE_READ", "TRANSACTION_SERIALIZABLE")) {
      try (HikariDataSource pool =
              server.pool(10, config -> config.setTransactionIsolation(isolation));
          JdbcStore store = Stores.open(pool)) {
        LockKey key = freshKey();
        ExecutorService executor = Executors.newFixedThreadPool(8);
        List<Future<Integer>> results = IntStream.range(0, 8)
            .mapToObj(i -> executor.submit(() -> takeAndFree(store, key)))
            .toList();
        int grants = 0;
        for (Future<Integer> result : results) {
          grants += result.get(30, TimeUnit.SECONDS);
        }
        executor.shutdown();
        assertThat(grants).isPositive();
      }
    }
  }

  private static int takeAndFree(JdbcStore store, LockKey key) throws Exception {
    int grants = 0;
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(1);
    while (System.nanoTime() - end < 0) {
      Optional<Grant> grant = store.tryAcquire(claim(key));
      if (grant.isPresent()) {
        grants++;
        Renewal renewal;
        do {
          renewal = store.renew(List.of(grant.get())).get(0);
          // Unknown: one of the others, who look at the row, had it locked at each try.
        } while (renewal instanceof Renewal.Unknown);
        assertThat(renewal).isEqualTo(new Renewal.Renewed(Claims.TTL));
        assertThat(store.release(grant.get(), Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      }
    }
    return grants;
  }

  @EachServer
  void whatSpringsProxiesWrapIsUsedApartFromTheCallersTransaction(Server server) throws Exception {
    try (HikariDataSource pool = server.pool(6);
        Payouts payouts = new Payouts(server);
        LockClient plain = JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build()) {
      TransactionTemplate transactions =
          new TransactionTemplate(new DataSourceTransactionManager(pool));
      DataSource aware = new TransactionAwareDataSourceProxy(pool);
      for (DataSource proxy : List.of(
          aware,
          new LazyConnectionDataSourceProxy(pool),
          new LazyConnectionDataSourceProxy(aware))) {
        try (LockClient locks = JdbcLocks.builder(proxy).build()) {
          String name = freshKey().name();
          transactions.executeWithoutResult(status -> {
            try (Connection joined = aware.getConnection()) {
              payouts.add(joined);
            } catch (SQLException e) {
              throw new AssertionError(e);
            }
            assertThat(locks.get(name).tryLock()).isPresent();
            status.setRollbackOnly();
          });
          assertThat(plain.get(name).tryLock()).isEmpty();
          assertThat(payouts.count()).isZero();
        }
      }
    }
  }

  @Test
  void dataSourcesThatMayBeInATransactionAreRefusedEvenInsideAWrapper() {
    try (HikariDataSource pool = Server.H2.pool(4)) {
      DataSource aware = new TransactionAwareDataSourceProxy(pool);
      for (DataSource proxy : List.of(
          new TransactionAwareDataSourceProxy(pool) {}, // Nobody knows what it does besides.
          new LazyConnectionDataSourceProxy(new DelegatingDataSource(aware)),
          new SingleConnectionDataSource(Server.H2.url(), "sa", "holdfast", true),
          new DelegatingDataSource(aware),
          new Opaque(aware))) {
        assertThatThrownBy(
                () -> JdbcLocks.builder(proxy).schema(SchemaMode.CREATE).build())
            .isInstanceOf(IllegalStateException.class)
            .hasMessageContaining("pass the data source that the proxy wraps");
      }
    }
  }

  /** A wrapper that neither tells what it wraps nor unwraps. */
  private static final class Opaque extends Wrapper {
    Opaque(DataSource wrapped) {
      super(wrapped);
    }

    @Override
    public Connection getConnection() throws SQLException {
      return wrapped.getConnection();
    }
  }

  @EachServer
  void aConnectionThatTurnsOutToBeInATransactionIsRefusedAndNotCommitted(Server server)
      throws Exception {
    try (HikariDataSource pool = server.pool(4);
        Payouts payouts = new Payouts(server)) {
      // Knows transactions, and nothing about it tells so.
      AtomicReference<Connection> current = new AtomicReference<>();
      DataSource proxy = new Wrapper(pool) {
        @Override
        public Connection getConnection() throws SQLException {
          Connection bound = current.get();
          return bound == null ? wrapped.getConnection() : unclosable(bound);
        }
      };
      try (LockClient locks = JdbcLocks.builder(proxy).schema(SchemaMode.CREATE).build();
          Connection transaction = pool.getConnection()) {
        transaction.setAutoCommit(false);
        payouts.add(transaction);
        current.set(transaction);
        assertThatThrownBy(() -> locks.get(freshKey().name()).tryLock())
            .isInstanceOf(LockStoreException.class)
            .hasMessageContaining("inside somebody's transaction");
        current.set(null);
        assertThat(transaction.isClosed()).isFalse();
        transaction.rollback();
        transaction.setAutoCommit(true);
        assertThat(locks.get(freshKey().name()).tryLock()).isPresent();
      }
      assertThat(payouts.count()).isZero();
    }
  }

  @EachRealServer
  void aConnectionThatJoinsATransactionAtItsFirstStatementGrantsNothing(Server server)
      throws Exception {
    try (HikariDataSource pool = server.pool(4);
        LockClient others = JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build()) {
      AtomicBoolean joins = new AtomicBoolean();
      DataSource source = new Wrapper(pool) {
        @Override
        public Connection getConnection() throws SQLException {
          return joins.get() ? joining(wrapped.getConnection()) : wrapped.getConnection();
        }
      };
      try (LockClient locks = JdbcLocks.builder(source).build()) {
        String name = freshKey().name();
        others.get(name).run(known -> {});
        joins.set(true);
        assertThatThrownBy(() -> locks.get(name).tryLock())
            .isInstanceOf(LockStoreException.class)
            .hasMessageContaining("is in a transaction");
        joins.set(false);
        others.get(name).tryLock(Await.PATIENCE).orElseThrow().close();
      }
    }
  }

  /** Begins a transaction when a statement is prepared, and not before. */
  private static Connection joining(Connection connection) {
    return (Connection) Proxy.newProxyInstance(
        Connection.class.getClassLoader(), new Class<?>[] {Connection.class}, (proxy, m, given) -> {
          if (m.getName().equals("prepareStatement")) {
            connection.setAutoCommit(false);
          }
          return m.invoke(connection, given);
        });
  }

  private static Connection unclosable(Connection connection) {
    return (Connection) Proxy.newProxyInstance(
        Connection.class.getClassLoader(),
        new Class<?>[] {Connection.class},
        (proxy, method, arguments) ->
            method.getName().equals("close") ? null : method.invoke(connection, arguments));
  }

  /** The caller's own table. */
  private static final class Payouts implements AutoCloseable {
    private final Connection connection;
    private final String table;

    Payouts(Server server) throws SQLException {
      connection = server.connect();
      table = "payouts_" + UUID.randomUUID().toString().replace("-", "");
      execute("CREATE TABLE " + table + " (id INT)");
    }

    void add(Connection transaction) throws SQLException {
      try (Statement statement = transaction.createStatement()) {
        assertThat(statement.executeUpdate("INSERT INTO " + table + " VALUES (1)"))
            .isEqualTo(1);
      }
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
      execute("DROP TABLE " + table);
      connection.close();
    }
  }
}
