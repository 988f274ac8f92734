package io.holdfast.lock.jdbc;

import static io.holdfast.lock.testsupport.Claims.claim;
import static io.holdfast.lock.testsupport.Claims.freshKey;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.arjuna.ats.arjuna.common.arjPropertyManager;
import com.arjuna.ats.internal.jta.transaction.arjunacore.TransactionSynchronizationRegistryImple;
import com.arjuna.ats.jdbc.TransactionalDriver;
import com.atomikos.icatch.jta.UserTransactionManager;
import com.atomikos.jdbc.AtomikosDataSourceBean;
import com.atomikos.jdbc.AtomikosNonXADataSourceBean;
import com.mysql.cj.jdbc.MysqlXADataSource;
import com.zaxxer.hikari.HikariDataSource;
import io.agroal.api.AgroalDataSource;
import io.agroal.api.configuration.supplier.AgroalDataSourceConfigurationSupplier;
import io.agroal.api.security.NamePrincipal;
import io.agroal.api.security.SimplePassword;
import io.agroal.narayana.NarayanaTransactionIntegration;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import jakarta.transaction.TransactionManager;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import javax.sql.DataSource;
import javax.sql.XADataSource;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.mariadb.jdbc.MariaDbDataSource;
import org.postgresql.xa.PGXADataSource;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy;
import org.springframework.jdbc.datasource.lookup.AbstractRoutingDataSource;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * Data sources that decide by the calling thread, or join its transaction: each is used rightly or
 * refused. A lock is in one database, and in nobody's transaction.
 */
class DataSourcesTest {
  /** Calls in a row, so that some find the pool used just now and some don't. */
  private static final int CALLS = 6;

  /** After this the pool counts as not used just now, so another thread borrows. */
  private static final Duration REST = Duration.ofMillis(300);

  @TempDir
  static Path logs;

  @BeforeAll
  static void keepTransactionLogsApart() throws Exception {
    String atomikos = Files.createDirectories(logs.resolve("atomikos")).toString();
    System.setProperty("com.atomikos.icatch.log_base_dir", atomikos);
    System.setProperty("com.atomikos.icatch.registered", "true");
    arjPropertyManager
        .getObjectStoreEnvironmentBean()
        .setObjectStoreDir(logs.resolve("narayana").toString());
  }

  @EachRealServer
  void aDataSourceOfTenantsIsRefusedByAThreadWithAnotherTenant(Server server) throws Exception {
    ThreadLocal<String> tenant = new ThreadLocal<>();
    try (Other other = new Other(server);
        HikariDataSource pool = server.pool(4)) {
      DataSource router = router(Map.of("other", other.pool), pool, tenant::get);
      try (LockClient locks =
          JdbcLocks.builder(router).schema(SchemaMode.CREATE).build()) {
        String name = freshKey().name();
        try (Lease lease = locks.get(freshKey().name()).lock()) {
          int refused = 0;
          for (int i = 0; i < CALLS; i++) {
            tenant.remove();
            if (i == CALLS / 2) {
              Await.pause(REST);
            } else {
              locks.get(freshKey().name()).run(warm -> {});
            }
            tenant.set("other");
            try {
              locks.get(name).tryLock().ifPresent(Lease::close);
            } catch (LockStoreException e) {
              assertThat(e).hasMessageContaining("a client for each database");
              refused++;
            }
            assertThat(other.locks.get(name).inspect()).isEmpty();
          }
          assertThat(lease.isHeld()).isTrue();
          // On MySQL, all databases of one server see its tables.
          assertThat(refused > 0).isEqualTo(server == Server.POSTGRES);
        }
      }
      if (server != Server.POSTGRES) {
        return;
      }
      // Also if its own thread has a tenant.
      assertThatThrownBy(() -> {
            try (LockClient locks = JdbcLocks.builder(router).build()) {
              while (true) {
                locks.get(freshKey().name()).run(lease -> {});
              }
            }
          })
          .isInstanceOfAny(IllegalStateException.class, LockStoreException.class)
          .hasMessageContaining("a client for each database");
    }
  }

  @EachRealServer
  void aDataSourceThatSendsReadOnlyTransactionsElsewhereIsRefusedInThese(Server server)
      throws Exception {
    try (Other other = new Other(server);
        HikariDataSource pool = server.pool(4)) {
      DataSource router = new LazyConnectionDataSourceProxy(router(
          Map.of("other", other.pool),
          pool,
          () -> TransactionSynchronizationManager.isCurrentTransactionReadOnly() ? "other" : null));
      TransactionTemplate transactions =
          new TransactionTemplate(new DataSourceTransactionManager(router));
      transactions.setReadOnly(true);
      try (LockClient locks =
          JdbcLocks.builder(router).schema(SchemaMode.CREATE).build()) {
        locks.get(freshKey().name()).run(warm -> {});
        String name = freshKey().name();
        transactions.executeWithoutResult(status -> {
          if (server == Server.POSTGRES) {
            assertThatThrownBy(() -> locks.get(name).tryLock())
                .isInstanceOf(LockStoreException.class)
                .hasMessageContaining("a client for each database");
          }
          Await.pause(REST);
          // A thread borrows that has no transaction.
          assertThat(locks.get(name).tryLock()).isPresent();
        });
        assertThat(locks.get(name).inspect()).isPresent();
        assertThat(other.locks.get(name).inspect()).isEmpty();
      }
    }
  }

  @EachRealServer
  void anotherAddressOfTheSameDatabaseIsAskedForItsIdOnce(Server server) throws Exception {
    // As after a failover, with a driver that names the server in its URL.
    try (FaultProxy first = server.openProxy();
        FaultProxy second = server.openProxy();
        HikariDataSource before = server.pool(4, config -> config.setJdbcUrl(server.url(first)));
        HikariDataSource after = server.pool(4, config -> {
          config.setJdbcUrl(server.url(second));
          config.setMinimumIdle(0); // Nothing but the store sends what is counted.
        })) {
      AtomicInteger at = new AtomicInteger();
      DataSource moving = new Wrapper(before) {
        @Override
        public Connection getConnection() throws SQLException {
          return (at.get() == 0 ? before : after).getConnection();
        }
      };
      try (JdbcStore store = Stores.open(moving)) {
        assertThat(store.tryAcquire(claim(freshKey()))).isPresent();
        at.set(1);
        assertThat(store.tryAcquire(claim(freshKey()))).isPresent();
        String name = freshKey().name();
        assertThat(store.tryAcquire(claim(Claims.key(name)))).isPresent();
        try (StatementCounter counter = new StatementCounter(server)) {
          long sent = counter.count();
          assertThat(store.tryAcquire(claim(Claims.key(name)))).isEmpty();
          assertThat(counter.count() - sent).isEqualTo(1);
        }
      }
      at.set(0);
      try (JdbcStore store = Stores.open(
          new JdbcStore.Settings(moving, JdbcLocks.DEFAULT_TABLE, SchemaMode.NONE, false, null),
          Stores.STORE_TIMEOUT)) {
        at.set(1);
        assertThatThrownBy(() -> store.tryAcquire(claim(freshKey())))
            .hasMessageContaining("a client for each database");
      }
    }
  }

  @EachRealServer
  void noLockIsPartOfATransactionOfAtomikos(Server server) throws Exception {
    AtomikosDataSourceBean pool = new AtomikosDataSourceBean();
    pool.setUniqueResourceName("xa-" + server);
    pool.setXaDataSource(xa(server));
    pool.setMinPoolSize(3);
    pool.setMaxPoolSize(8);
    pool.setLocalTransactionMode(true);
    UserTransactionManager transactions = new UserTransactionManager();
    try {
      noLockIsPartOfATransaction(server, pool, transactions);
    } finally {
      pool.close();
    }
  }

  @EachRealServer
  void noLockIsPartOfATransactionOfAtomikosWithoutXa(Server server) throws Exception {
    AtomikosNonXADataSourceBean pool = new AtomikosNonXADataSourceBean();
    pool.setUniqueResourceName("plain-" + server);
    pool.setDriverClassName(DriverManager.getDriver(server.url()).getClass().getName());
    pool.setUrl(server.url());
    pool.setUser(server.user());
    pool.setPassword("holdfast");
    pool.setMinPoolSize(3);
    pool.setMaxPoolSize(8);
    pool.setLocalTransactionMode(true);
    try {
      noLockIsPartOfATransaction(server, pool, new UserTransactionManager());
    } finally {
      pool.close();
    }
  }

  @EachRealServer
  void connectionsWithoutATimeLimitAsOfNarayanaAreRefused(Server server) throws Exception {
    Properties properties = new Properties();
    properties.put(TransactionalDriver.XADataSource, xa(server));
    properties.put(TransactionalDriver.userName, server.user());
    properties.put(TransactionalDriver.password, "holdfast");
    TransactionalDriver driver = new TransactionalDriver();
    try (HikariDataSource unused = server.pool(1)) {
      DataSource source = new Wrapper(unused) {
        @Override
        public Connection getConnection() throws SQLException {
          return driver.connect(TransactionalDriver.arjunaDriver + "holdfast", properties);
        }
      };
      assertThatThrownBy(() -> JdbcLocks.builder(source).build())
          .hasMessageContaining("The time on the connection's socket can't be limited");
    }
  }

  @EachRealServer
  void noLockIsPartOfATransactionOfAgroal(Server server) throws Exception {
    TransactionManager transactions = com.arjuna.ats.jta.TransactionManager.transactionManager();
    try (AgroalDataSource pool = AgroalDataSource.from(new AgroalDataSourceConfigurationSupplier()
        .connectionPoolConfiguration(settings -> settings
            .maxSize(8)
            .transactionIntegration(new NarayanaTransactionIntegration(
                transactions, new TransactionSynchronizationRegistryImple()))
            .connectionFactoryConfiguration(factory -> factory
                .jdbcUrl(server.url())
                .principal(new NamePrincipal(server.user()))
                .credential(new SimplePassword("holdfast")))))) {
      noLockIsPartOfATransaction(server, pool, transactions);
    }
  }

  /** Takes locks in transactions that are rolled back; each is refused, or is there for others. */
  private static void noLockIsPartOfATransaction(
      Server server, DataSource source, TransactionManager transactions) throws Exception {
    String table = "written_" + UUID.randomUUID().toString().replace("-", "");
    try (HikariDataSource pool = server.pool(4);
        LockClient others = JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build();
        LockClient locks = JdbcLocks.builder(source).schema(SchemaMode.CREATE).build()) {
      execute(pool, "CREATE TABLE " + table + " (id INT)");
      int refused = 0;
      for (int i = 0; i < CALLS; i++) {
        String name = freshKey().name();
        others.get(name).run(known -> {});
        boolean rests = i % 3 == 2;
        if (rests) {
          Await.pause(REST);
        } else {
          locks.get(name).run(warm -> {});
        }
        Optional<Lease> lease = Optional.empty();
        transactions.begin();
        try {
          if (i % 2 == 1 && !rests) { // Atomikos does not bear a second connection.
            execute(source, "INSERT INTO " + table + " VALUES (1)");
          }
          lease = locks.get(name).tryLock();
          assertThat(others.get(name).inspect()).isPresent();
        } catch (LockStoreException e) {
          assertThat(e).hasMessageContaining("takes no part in transactions");
          refused++;
        } finally {
          transactions.rollback();
        }
        assertThat(others.get(name).tryLock().isPresent()).isNotEqualTo(lease.isPresent());
        if (lease.isPresent()) {
          lease.get().verify();
          lease.get().close();
        }
      }
      assertThat(refused).isPositive();
      try (Connection connection = pool.getConnection();
          Statement statement = connection.createStatement();
          var rows = statement.executeQuery("SELECT COUNT(*) FROM " + table)) {
        rows.next();
        assertThat(rows.getInt(1)).isZero();
      }
      execute(pool, "DROP TABLE " + table);
    }
  }

  private static XADataSource xa(Server server) throws SQLException {
    if (server == Server.POSTGRES) {
      PGXADataSource source = new PGXADataSource();
      source.setUrl(server.url());
      source.setUser(server.user());
      source.setPassword("holdfast");
      return source;
    }
    if (server == Server.MARIADB) {
      MariaDbDataSource source = new MariaDbDataSource(server.url());
      source.setUser(server.user());
      source.setPassword("holdfast");
      return source;
    }
    MysqlXADataSource source = new MysqlXADataSource();
    source.setUrl(server.url());
    source.setUser(server.user());
    source.setPassword("holdfast");
    return source;
  }

  private static DataSource router(
      Map<Object, Object> targets, DataSource otherwise, Supplier<String> key) {
    AbstractRoutingDataSource router = new AbstractRoutingDataSource() {
      @Override
      protected Object determineCurrentLookupKey() {
        return key.get();
      }
    };
    router.setTargetDataSources(targets);
    router.setDefaultTargetDataSource(otherwise);
    router.afterPropertiesSet();
    return router;
  }

  private static void execute(DataSource source, String sql) throws SQLException {
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /** Another database of the same server, with locks of its own. */
  private static final class Other implements AutoCloseable {
    private final Server server;
    private final String name = "other_" + UUID.randomUUID().toString().replace("-", "");
    final HikariDataSource pool;
    final LockClient locks;

    Other(Server server) throws SQLException {
      this.server = server;
      execute("CREATE DATABASE ");
      pool = server.pool(
          4, config -> config.setJdbcUrl(server.url().replace("/holdfast", "/" + name)));
      locks = JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build();
    }

    private void execute(String what) throws SQLException {
      try (Connection connection = server.connect();
          Statement statement = connection.createStatement()) {
        statement.execute(what + name);
      }
    }

    @Override
    public void close() throws SQLException {
      locks.close();
      pool.close();
      execute("DROP DATABASE ");
    }
  }
}
