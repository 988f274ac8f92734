package io.holdfast.lock.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNoException;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.InMemoryLocks;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockListener;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.jdbc.JdbcLocks;
import io.holdfast.lock.jdbc.SchemaMode;
import io.holdfast.lock.testsupport.Logged;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.BeanFactoryAware;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.PriorityOrdered;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.TransactionManager;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.interceptor.TransactionInterceptor;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Locks around transactions, and guards on their commits, on H2. */
class TransactionTest {
  private final HikariDataSource pool =
      new Database("jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1", "sa", "").pool();
  private final JdbcTemplate jdbc = new JdbcTemplate(pool);
  private final LockClient others = Database.locks(pool, "others");
  private final Log log = new Log();
  private final AnnotationConfigApplicationContext context =
      new AnnotationConfigApplicationContext();

  TransactionTest() {
    jdbc.execute("CREATE TABLE sold (id INT)");
  }

  private Shop start(Class<?>... more) {
    return start(new DataSourceTransactionManager(pool), more);
  }

  private Shop start(TransactionManager manager, Class<?>... more) {
    context.register(Transactions.class, App.Locks.class, Shop.class, Inner.class);
    if (more.length > 0) {
      context.register(more);
    }
    context.registerBean(DataSource.class, () -> pool);
    context.registerBean(JdbcTemplate.class, () -> jdbc);
    context.registerBean(
        TransactionManager.class, () -> manager, definition -> definition.setPrimary(true));
    context.registerBean(
        "locks",
        LockClient.class,
        () -> JdbcLocks.builder(pool)
            .clientName("app")
            .schema(SchemaMode.CREATE)
            .addListener(log)
            .build());
    context.refresh();
    return context.getBean(Shop.class);
  }

  @AfterEach
  void close() {
    context.close();
    others.close();
    pool.close();
  }

  private int sold() {
    return jdbc.queryForObject("SELECT COUNT(*) FROM sold", Integer.class);
  }

  private void forceFree(String name) {
    assertThat(others
            .get(name)
            .forceRelease(others.get(name).inspect().orElseThrow().token()))
        .isTrue();
  }

  /** Frees the lock, and lets another client take it. */
  private void steal(String name) {
    forceFree(name);
    assertThat(others.get(name).tryLock()).isPresent();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void theLockIsAroundTheTransactionWhateverTheOrderOfTheAnnotations(boolean lockedFirst) {
    Shop shop = start();
    Runnable body = () -> {
      log.add("body", TransactionSynchronizationManager.isActualTransactionActive());
      TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
        @Override
        public void afterCommit() {
          log.add("committed", others.get("ordered").inspect().isPresent());
        }
      });
    };
    if (lockedFirst) {
      shop.lockedFirst(body);
    } else {
      shop.transactionalFirst(body);
    }
    assertThat(log.lines)
        .containsExactly(
            "acquired, in transaction: false",
            "body: true",
            "committed: true",
            "released, in transaction: false");
  }

  @Test
  void anOrderThatWouldPutTheLockInsideEndsTheStart() {
    assertThatExceptionOfType(InvalidLockedMethodException.class)
        .isThrownBy(() -> start(EarlyTransactions.class))
        .withMessageContaining("be released before the commit")
        .withMessageContaining("order of transactions is 5")
        .withMessageContaining("@EnableHoldfastLocks(order = ...)");
  }

  @Test
  void aGuardedHolderCommits() {
    start().guarded("a", () -> {});
    assertThat(sold()).isEqualTo(1);
    assertThat(others.get("a").inspect()).isEmpty();
  }

  @Test
  void aGuardedHolderThatWasOvertakenCannotCommit() {
    Shop shop = start();
    assertThatExceptionOfType(LockLostException.class)
        .isThrownBy(() -> shop.guarded("a", () -> steal("a")));
    assertThat(sold()).isZero();
    assertThat(others.get("a").isHeldByCurrentThread()).isTrue();
  }

  @Test
  void withoutAGuardItCommits() {
    Shop shop = start();
    assertThatExceptionOfType(LockLostException.class)
        .isThrownBy(() -> shop.unguarded("a", () -> steal("a")));
    assertThat(sold()).isEqualTo(1);
  }

  @Test
  void anInnerTransactionOfItsOwnIsGuardedToo() {
    Shop shop = start();
    Inner inner = context.getBean(Inner.class);
    assertThatExceptionOfType(LockLostException.class)
        .isThrownBy(() -> shop.guarded("a", () -> {
          forceFree("a");
          inner.sell();
        }));
    assertThat(sold()).isZero();
    shop.guarded("b", inner::sell);
    assertThat(sold()).isEqualTo(2);
  }

  @Test
  void aMethodThatFailsRollsBackAndFreesTheLock() {
    Shop shop = start();
    assertThatExceptionOfType(UnsupportedOperationException.class)
        .isThrownBy(() -> shop.guarded("a", () -> {
          throw new UnsupportedOperationException("made up");
        }));
    assertThat(sold()).isZero();
    assertThat(others.get("a").inspect()).isEmpty();
  }

  @Test
  void aGuardedCallWithinAnOlderTransactionIsRefusedUnlessItAsksForANewOne() {
    Shop shop = start();
    TransactionTemplate older =
        new TransactionTemplate(context.getBean(DataSourceTransactionManager.class));
    assertThatIllegalStateException()
        .isThrownBy(() -> older.executeWithoutResult(status -> shop.guarded("a", () -> {})))
        .withMessageContaining("REQUIRES_NEW");
    assertThat(log.lines).isEmpty();
    assertThatNoException()
        .isThrownBy(() -> older.executeWithoutResult(status -> shop.guardedAnew("a")));
    assertThat(sold()).isEqualTo(1);
    assertThatExceptionOfType(LockLostException.class)
        .isThrownBy(() ->
            older.executeWithoutResult(status -> shop.guardedAnewAndStolen("a", () -> steal("a"))));
    assertThat(sold()).isEqualTo(1);
  }

  @Test
  void aCallWithinAnOlderTransactionIsWarnedOfOnce() throws Exception {
    Shop shop = start();
    TransactionTemplate older =
        new TransactionTemplate(context.getBean(DataSourceTransactionManager.class));
    assertThat(Logged.during(() -> older.executeWithoutResult(status -> {
          shop.unguarded("a", () -> {});
          shop.unguarded("b", () -> {});
        })))
        .containsOnlyOnce("Shop.unguarded(String, Runnable) was called within a transaction");
  }

  @Test
  void aCallThatTakesNoPartInTheOlderTransactionIsNotWarnedOf() throws Exception {
    Shop shop = start();
    TransactionTemplate older =
        new TransactionTemplate(context.getBean(DataSourceTransactionManager.class));
    assertThat(Logged.during(() -> older.executeWithoutResult(status -> {
          shop.anew();
          assertThat(sold()).isEqualTo(1);
          shop.without();
          assertThat(sold()).isEqualTo(2);
        })))
        .doesNotContain("within a transaction");
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aCommitOnAConnectionThatIsNotExposedIsRefused(boolean withinAnother) {
    // Another connection of it is in a transaction, too, and could be taken for the manager's.
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(pool.getJdbcUrl());
    config.setUsername(pool.getUsername());
    config.setPassword(pool.getPassword());
    config.setMaximumPoolSize(3);
    config.setAutoCommit(false);
    try (HikariDataSource withoutAutoCommit = new HikariDataSource(config)) {
      UnexposedTransactionManager manager = new UnexposedTransactionManager(withoutAutoCommit);
      start(manager, Seller.class);
      Runnable sale = () -> context.getBean(Seller.class).sell(manager);
      TransactionTemplate another =
          new TransactionTemplate(new DataSourceTransactionManager(withoutAutoCommit));
      assertThatIllegalStateException()
          .isThrownBy(() -> {
            if (withinAnother) {
              another.executeWithoutResult(status -> sale.run());
            } else {
              sale.run();
            }
          })
          .withMessageContaining("does not expose its connection")
          .withMessageContaining("vendor adapter");
    }
    assertThat(sold()).isZero();
  }

  @Test
  void aTransactionWithoutSynchronizationCannotCommit() {
    DataSourceTransactionManager manager = new DataSourceTransactionManager(pool);
    Shop shop = start(manager);
    manager.setTransactionSynchronization(AbstractPlatformTransactionManager.SYNCHRONIZATION_NEVER);
    assertThatIllegalStateException()
        .isThrownBy(() -> shop.guarded("a", () -> {}))
        .withMessageContaining("was rolled back")
        .withMessageContaining("switched on");
    assertThat(sold()).isZero();
  }

  @Test
  void aTransactionThatBeginsBeforeTheCommitOfAnotherDoesNotWaitForIt() {
    Shop shop = start();
    Inner inner = context.getBean(Inner.class);
    shop.guarded("a", () -> beforeCommit(inner::sell));
    assertThat(sold()).isEqualTo(2);
    assertThatExceptionOfType(LockLostException.class)
        .isThrownBy(() -> shop.guarded("b", () -> beforeCommit(() -> steal("b"))));
    assertThat(sold()).isEqualTo(2);
  }

  @Test
  void aFailureBeforeTheCommitThatSpringTakesForOneOfTheCommitCommitsNothing() {
    Shop shop = start();
    assertThatExceptionOfType(UnexpectedRollbackException.class)
        .isThrownBy(() -> shop.guarded(
            "a",
            () -> beforeCommit(() -> {
              steal("a");
              throw new UnexpectedRollbackException("made up");
            })));
    assertThat(sold()).isZero();
  }

  private static void beforeCommit(Runnable step) {
    TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
      @Override
      public void beforeCommit(boolean readOnly) {
        step.run();
      }
    });
  }

  @Test
  void theGuardWritesNothingInAReadOnlyTransaction() {
    Shop shop = start();
    Inner inner = context.getBean(Inner.class);
    shop.guarded("a", () -> {
      assertThat(inner.count()).isZero();
      assertThat(writesOfGuards()).isZero();
      inner.sell();
      assertThat(writesOfGuards()).isEqualTo(1);
    });
    assertThatExceptionOfType(LockLostException.class)
        .isThrownBy(() -> shop.guarded("b", () -> {
          steal("b");
          inner.sell();
        }));
  }

  private int writesOfGuards() {
    try (Connection connection = pool.getConnection();
        ResultSet rows =
            connection.createStatement().executeQuery("SELECT SUM(guarded) FROM holdfast_lock")) {
      rows.next();
      return rows.getInt(1);
    } catch (SQLException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void theTransactionManagerCanBeThatOfTheQualifierOfTheClass() {
    start(Second.class, Qualified.class);
    Qualified qualified = context.getBean(Qualified.class);
    qualified.sell(() -> {});
    assertThat(sold()).isEqualTo(1);
    assertThatExceptionOfType(LockLostException.class)
        .isThrownBy(() -> qualified.sell(() -> steal("qualified")));
    assertThat(sold()).isEqualTo(1);
  }

  @Test
  void aClassCanHaveAnotherQualifier() {
    start(Second.class, OtherwiseQualified.class);
    context.getBean(OtherwiseQualified.class).sell();
    assertThat(sold()).isEqualTo(1);
  }

  @Test
  void aTransactionOfAnotherManagerIsSaidToBeCommitted() {
    Shop shop = start(AnotherManager.class);
    assertThatIllegalStateException()
        .isThrownBy(() -> shop.guarded("a", () -> {}))
        .withMessageContaining("has been committed without a guard")
        .withMessageContaining("transactionManager");
    assertThat(sold()).isEqualTo(1);
  }

  @Test
  void whatCannotBeGuardedEndsTheStart() {
    assertRefused(NoTransaction.class, "no transaction of its own", "add @Transactional");
    assertRefused(ReadOnly.class, "read-only", "leave out one");
    assertRefused(Supports.class, "begins no transaction", "REQUIRED");
    assertRefused(InMemory.class, "has no guard", "JdbcLocks");
  }

  private void assertRefused(Class<?> bean, String... said) {
    try (AnnotationConfigApplicationContext refused = new AnnotationConfigApplicationContext()) {
      refused.register(Transactions.class, App.Locks.class, bean);
      refused.registerBean(TransactionManager.class, () -> new DataSourceTransactionManager(pool));
      refused.registerBean(
          "locks",
          LockClient.class,
          () -> Database.locks(pool, "app"),
          definition -> definition.setPrimary(true));
      refused.registerBean(
          "memory", LockClient.class, () -> InMemoryLocks.builder().build());
      assertThatExceptionOfType(InvalidLockedMethodException.class)
          .isThrownBy(refused::refresh)
          .satisfies(e -> assertThat(e.getMessage()).contains("attribute guard").contains(said));
    }
  }

  /** The events, in order. */
  private static final class Log implements LockListener {
    final List<String> lines = new CopyOnWriteArrayList<>();

    void add(String what, boolean answer) {
      lines.add(what + ": " + answer);
    }

    @Override
    public void acquired(Acquired event) {
      add(
          "acquired, in transaction",
          TransactionSynchronizationManager.isActualTransactionActive());
    }

    @Override
    public void released(Released event) {
      add(
          "released, in transaction",
          TransactionSynchronizationManager.isActualTransactionActive());
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableTransactionManagement
  static class Transactions {}

  @Configuration(proxyBeanMethods = false)
  @EnableTransactionManagement(order = 5)
  static class EarlyTransactions {}

  static class Shop {
    private final JdbcTemplate jdbc;

    Shop(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    @Locked("ordered")
    @Transactional
    public void lockedFirst(Runnable body) {
      body.run();
    }

    @Transactional
    @Locked("ordered")
    public void transactionalFirst(Runnable body) {
      body.run();
    }

    @Locked(name = "#{#name}", guard = true)
    @Transactional
    public void guarded(String name, Runnable body) {
      jdbc.update("INSERT INTO sold VALUES (1)");
      body.run();
    }

    @Locked("#{#name}")
    @Transactional
    public void unguarded(String name, Runnable body) {
      jdbc.update("INSERT INTO sold VALUES (1)");
      body.run();
    }

    @Locked("anew")
    @Transactional(propagation = Propagation.REQUIRES_NEW)
    public void anew() {
      jdbc.update("INSERT INTO sold VALUES (1)");
    }

    @Locked("without")
    @Transactional(propagation = Propagation.NOT_SUPPORTED)
    public void without() {
      jdbc.update("INSERT INTO sold VALUES (1)");
    }

    @Locked(name = "#{#name}", guard = true)
    @Transactional(propagation = Propagation.REQUIRES_NEW)
    public void guardedAnew(String name) {
      jdbc.update("INSERT INTO sold VALUES (1)");
    }

    @Locked(name = "#{#name}", guard = true)
    @Transactional(propagation = Propagation.REQUIRES_NEW)
    public void guardedAnewAndStolen(String name, Runnable body) {
      jdbc.update("INSERT INTO sold VALUES (1)");
      body.run();
    }
  }

  static class Inner {
    private final JdbcTemplate jdbc;

    Inner(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    @Transactional(propagation = Propagation.REQUIRES_NEW)
    public void sell() {
      jdbc.update("INSERT INTO sold VALUES (2)");
    }

    @Transactional(propagation = Propagation.REQUIRES_NEW, readOnly = true)
    public int count() {
      return jdbc.queryForObject("SELECT COUNT(*) FROM sold", Integer.class);
    }
  }

  static class Seller {
    @Locked(name = "a", guard = true)
    @Transactional(propagation = Propagation.REQUIRES_NEW)
    public void sell(UnexposedTransactionManager manager) {
      manager.insert();
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Second {
    @Bean
    TransactionManager second(DataSource dataSource) {
      return new DataSourceTransactionManager(dataSource);
    }
  }

  @Qualifier("second")
  static class Qualified {
    private final JdbcTemplate jdbc;

    Qualified(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    @Locked(name = "qualified", guard = true)
    @Transactional
    public void sell(Runnable body) {
      jdbc.update("INSERT INTO sold VALUES (1)");
      body.run();
    }
  }

  @Qualifier("of-the-bean")
  static class OtherwiseQualified {
    private final JdbcTemplate jdbc;

    OtherwiseQualified(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    @Locked(name = "qualified", guard = true)
    @Transactional
    public void sell() {
      jdbc.update("INSERT INTO sold VALUES (1)");
    }
  }

  /** Begins transactions by a manager that no annotation names. */
  static class AnotherManager implements BeanPostProcessor, BeanFactoryAware, PriorityOrdered {
    private BeanFactory beanFactory;

    @Override
    public int getOrder() {
      return HIGHEST_PRECEDENCE;
    }

    @Override
    public void setBeanFactory(BeanFactory beanFactory) {
      this.beanFactory = beanFactory;
    }

    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
      if (bean instanceof TransactionInterceptor interceptor) {
        interceptor.setTransactionManager(
            new DataSourceTransactionManager(beanFactory.getBean(DataSource.class)));
      }
      return bean;
    }
  }

  static class NoTransaction {
    @Locked(name = "a", guard = true)
    public void run() {}
  }

  static class ReadOnly {
    @Locked(name = "a", guard = true)
    @Transactional(readOnly = true)
    public void run() {}
  }

  static class Supports {
    @Locked(name = "a", guard = true)
    @Transactional(propagation = Propagation.SUPPORTS)
    public void run() {}
  }

  static class InMemory {
    @Locked(name = "a", guard = true, client = "memory")
    @Transactional
    public void run() {}
  }
}
