package io.holdfast.lock.jdbc;

import static io.holdfast.lock.testsupport.Claims.claim;
import static io.holdfast.lock.testsupport.Claims.freshKey;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Deque;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/** A client's use of the connections of a pool that is not its own. */
class PoolTest {
  private static final Duration SHORT = Duration.ofMillis(300);

  /** Hikari's default. */
  private static final Duration POOLS_OWN_TIMEOUT = Duration.ofSeconds(30);

  @Test
  void anExhaustedPoolIsRefusedWithinTheStoreTimeout() throws Exception {
    try (HikariDataSource pool = Server.H2.pool(3);
        JdbcStore store = openInAnyTime(pool, SHORT);
        Connection first = pool.getConnection();
        Connection second = pool.getConnection()) {
      long begin = System.nanoTime();
      StoreException refused =
          catchThrowableOfType(StoreException.class, () -> store.tryAcquire(claim(freshKey())));
      assertThat(Duration.ofNanos(System.nanoTime() - begin))
          .isBetween(SHORT, POOLS_OWN_TIMEOUT.dividedBy(2));
      assertThat(refused.mayHaveHappened()).isFalse();
      assertThat(refused).hasMessageContaining("exhausted the pool, whose 3 connections are all");
      assertThat(Thread.currentThread().isInterrupted()).isFalse();
      assertThat(first).isNotSameAs(second);
    }
  }

  @Test
  void aPoolThatNeverHadAConnectionIsNotCalledExhausted() throws Exception {
    try (ServerSocket silent = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
        HikariDataSource pool = new HikariDataSource()) {
      pool.setJdbcUrl("jdbc:postgresql://%s:%d/x"
          .formatted(silent.getInetAddress().getHostAddress(), silent.getLocalPort()));
      assertThatThrownBy(() -> JdbcLocks.builder(pool).storeTimeout(SHORT).build())
          .isInstanceOf(LockStoreException.class)
          .hasMessageContaining("the pool never had a connection")
          .hasMessageNotContaining("exhausted");
    }
  }

  @Test
  void aDataSourceThatRefusesToBeUnwrappedIsRefusedAsAnyOther() throws Exception {
    try (HikariDataSource pool = Server.H2.pool(2)) {
      DataSource sealed = new Wrapper(pool) {
        @Override
        public Connection getConnection() throws SQLException {
          return wrapped.getConnection();
        }

        @Override
        public <T> T unwrap(Class<T> type) {
          throw new UnsupportedOperationException("made up");
        }
      };
      try (JdbcStore store = openInAnyTime(sealed, SHORT);
          Connection last = pool.getConnection()) {
        assertThatThrownBy(() -> store.tryAcquire(claim(freshKey())))
            .isInstanceOf(StoreException.class)
            .hasMessageContaining("exhausted");
        assertThat(last.isClosed()).isFalse();
      }
    }
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void anExhaustedPoolStopsNoRenewalAndNoRelease() throws Exception {
    try (HikariDataSource pool = Server.H2.pool(3);
        JdbcStore store = Stores.open(pool)) {
      Claim claim = claim(freshKey());
      Grant grant = store.tryAcquire(claim).orElseThrow();
      try (Connection first = pool.getConnection();
          Connection second = pool.getConnection()) {
        assertThat(first).isNotSameAs(second);
        assertThat(store.renew(List.of(grant))).containsExactly(new Renewal.Renewed(Claims.TTL));
        assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
        store.withdraw(claim);
      }
      assertThat(store.tryAcquire(claim(claim.key()))).isPresent();
    }
  }

  @Test
  void whereNoThreadIsToBeHadARenewalAndAReleaseUseTheClientsOwnConnection() throws Exception {
    try (HikariDataSource pool = Server.H2.pool(4);
        JdbcStore store = Stores.open(pool)) {
      Grant grant = store.tryAcquire(claim(freshKey())).orElseThrow();
      ThreadPoolExecutor borrowers =
          (ThreadPoolExecutor) field(field(field(store, "database"), "pool"), "borrowers");
      AtomicInteger refused = new AtomicInteger();
      borrowers.setThreadFactory(task -> {
        refused.incrementAndGet();
        throw new OutOfMemoryError("unable to create native thread");
      });
      Await.pause(SHORT); // Before that, the caller borrows on its own thread.
      assertThatCode(() -> {
            assertThat(store.renew(List.of(grant)))
                .containsExactly(new Renewal.Renewed(Claims.TTL));
            assertThat(refused).hasValue(1);
            assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
            assertThat(refused).hasValueGreaterThan(1);
          })
          .doesNotThrowAnyException(); // JUnit itself would end at an OutOfMemoryError.
    }
  }

  private static Object field(Object object, String name) throws Exception {
    Field field = object.getClass().getDeclaredField(name);
    field.setAccessible(true);
    return field.get(object);
  }

  @Test
  void whateverAPoolThrowsIsARefusalAlsoJustAfterItWasUsed() throws Exception {
    AtomicBoolean failing = new AtomicBoolean();
    try (HikariDataSource pool = Server.H2.pool(4)) {
      DataSource thrower = new Wrapper(pool) {
        @Override
        public Connection getConnection() throws SQLException {
          if (failing.get()) {
            throw new IllegalStateException("made up");
          }
          return wrapped.getConnection();
        }
      };
      try (JdbcStore store = Stores.open(thrower)) {
        assertThat(store.tryAcquire(claim(freshKey()))).isPresent();
        failing.set(true);
        StoreException refused =
            catchThrowableOfType(StoreException.class, () -> store.tryAcquire(claim(freshKey())));
        assertThat(refused).hasMessageContaining("made up");
        assertThat(refused.mayHaveHappened()).isFalse();
        assertThat(refused.getCause()).isNotInstanceOf(IllegalStateException.class);
      }
    }
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void aSlowPoolIsWaitedForOnceAlsoForANewNameAndToJoinALine() throws Exception {
    AtomicBoolean slow = new AtomicBoolean();
    Duration timeout = Duration.ofSeconds(5);
    try (HikariDataSource pool = Server.H2.pool(4)) {
      DataSource slowPool = new Wrapper(pool) {
        @Override
        public Connection getConnection() throws SQLException {
          try {
            Thread.sleep(slow.get() ? timeout.toMillis() * 3 / 5 : 0);
          } catch (InterruptedException e) {
            throw new SQLException(e);
          }
          return wrapped.getConnection();
        }
      };
      try (JdbcStore store = openInAnyTime(slowPool, timeout)) {
        LockKey key = freshKey();
        Await.until("it is taken", () -> isTaken(store, key));
        slow.set(true);
        // There is no time to borrow twice.
        assertThat(store.tryAcquire(claim(freshKey()))).isPresent();
        assertThat(store.acquireOrQueue(claim(key), () -> {}))
            .isInstanceOf(Acquisition.Queued.class);
        slow.set(false);
      }
    }
  }

  private static boolean isTaken(JdbcStore store, LockKey key) {
    try {
      return store.tryAcquire(claim(key)).isEmpty();
    } catch (StoreException e) {
      return false;
    }
  }

  @Test
  void noConnectionIsKeptBeyondARenewalAndOneAlwaysIs() throws Exception {
    try (HikariDataSource pool = Server.H2.pool(4)) {
      Deque<Connection> lent = new ConcurrentLinkedDeque<>();
      DataSource recording = new Wrapper(pool) {
        @Override
        public Connection getConnection() throws SQLException {
          Connection connection = wrapped.getConnection();
          lent.add(connection);
          return connection;
        }
      };
      try (JdbcStore store = Stores.open(recording)) {
        Connection first = lent.getFirst();
        assertThat(first.isClosed()).isFalse();
        Grant grant = store.tryAcquire(claim(freshKey())).orElseThrow();
        assertThat(store.renew(List.of(grant))).containsExactly(new Renewal.Renewed(Claims.TTL));
        Await.until("the first is given back", () -> isClosed(first));
        assertThat(lent.getLast().isClosed()).isFalse();
        assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isEqualTo(1);
      }
    }
  }

  /** Another connection may lead to a server that does not know the grant. */
  @Test
  void aRenewalThatDidNotExtendALeaseReadsItOnTheSameConnection() throws Exception {
    try (HikariDataSource pool = Server.H2.pool(4)) {
      AtomicInteger lent = new AtomicInteger();
      try (JdbcStore store = Stores.open(counting(pool, lent))) {
        Grant grant = store.tryAcquire(claim(freshKey())).orElseThrow();
        assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
        int before = lent.get();
        assertThat(store.renew(List.of(grant))).containsExactly(new Renewal.Lost());
        assertThat(lent.get() - before).isEqualTo(1);
      }
    }
  }

  @Test
  void anExhaustedPoolIsNotAskedAtEachUseForAnotherConnectionToKeep() throws Exception {
    try (HikariDataSource pool = Server.H2.pool(3)) {
      AtomicInteger asked = new AtomicInteger();
      try (JdbcStore store =
          Stores.open(Stores.settings(counting(pool, asked)), Duration.ofSeconds(2))) {
        JdbcGrant grant = (JdbcGrant) store.tryAcquire(claim(freshKey())).orElseThrow();
        try (Connection first = pool.getConnection();
            Connection second = pool.getConnection()) {
          assertThat(first).isNotSameAs(second);
          int before = asked.get();
          for (int i = 0; i < 3; i++) {
            grant.database().expireOwnConnection();
            assertThat(grant.isShown()).isTrue();
          }
          assertThat(asked.get() - before).isEqualTo(1);
        }
      }
    }
  }

  private static DataSource counting(DataSource pool, AtomicInteger asked) {
    return new Wrapper(pool) {
      @Override
      public Connection getConnection() throws SQLException {
        asked.incrementAndGet();
        return wrapped.getConnection();
      }
    };
  }

  private static boolean isClosed(Connection connection) {
    try {
      return connection.isClosed();
    } catch (SQLException e) {
      throw new AssertionError(e);
    }
  }

  @EachRealServer
  void aReadOnlyServerIsToldSoonAndNotStormedWithConnections(Server server) throws Exception {
    // Far longer than the answer takes, also on a busy machine: not told soon is told after it.
    Duration timeout = Stores.STORE_TIMEOUT.multipliedBy(3);
    try (HikariDataSource writing = server.pool(4);
        JdbcStore usual = Stores.open(writing)) {
      Grant grant = usual.tryAcquire(claim(freshKey())).orElseThrow();
      AtomicInteger opened = new AtomicInteger();
      DataSource driver =
          new Wrapper(new DriverManagerDataSource(server.url(), server.user(), "holdfast")) {
            @Override
            public Connection getConnection() throws SQLException {
              opened.incrementAndGet();
              return wrapped.getConnection();
            }
          };
      HikariConfig config = new HikariConfig();
      config.setDataSource(driver);
      config.setMaximumPoolSize(4);
      config.setMinimumIdle(0);
      config.setConnectionInitSql(
          server == Server.POSTGRES
              ? "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY"
              : "SET SESSION TRANSACTION READ ONLY");
      try (HikariDataSource readOnly = new HikariDataSource(config);
          JdbcStore store = Stores.open(unchecked(readOnly), timeout)) {
        long begin = System.nanoTime();
        StoreException refused =
            catchThrowableOfType(StoreException.class, () -> store.tryAcquire(claim(freshKey())));
        assertThat(refused.mayHaveHappened()).isFalse();
        assertThat(catchThrowableOfType(StoreException.class, () -> store.renew(List.of(grant))))
            .isNotNull();
        assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(timeout);
        assertThat(opened).hasValueBetween(4, 25);
      }
      assertThat(isHeld(usual, grant)).isTrue();
    }
  }

  /** The trial at the start would find it read-only. */
  private static JdbcStore.Settings unchecked(DataSource dataSource) {
    return new JdbcStore.Settings(
        dataSource, JdbcLocks.DEFAULT_TABLE, SchemaMode.NONE, false, null);
  }

  @Test
  void aPoolOfOneConnectionIsRefused() {
    try (HikariDataSource pool = Server.H2.pool(1)) {
      // On a busy machine the time may be over before there is a first one.
      Await.until("it is refused for want of a second connection", () -> {
        StoreException refused = catchThrowableOfType(
            StoreException.class, () -> Stores.open(Stores.settings(pool), SHORT));
        return String.valueOf(refused.getMessage()).contains("at least 2");
      });
      // The thread that asked for the second one may get the first, and gives it back.
      Await.until(
          "every connection is given back",
          () -> pool.getHikariPoolMXBean().getActiveConnections() == 0);
    }
  }

  @Test
  void anInterruptedThreadAsksAllTheSameAndStaysInterrupted() throws Exception {
    try (HikariDataSource pool = Server.H2.pool(4);
        JdbcStore store = Stores.open(pool)) {
      Thread.currentThread().interrupt();
      Grant grant = store.tryAcquire(claim(freshKey())).orElseThrow();
      assertThat(Thread.interrupted()).isTrue();

      Thread.currentThread().interrupt();
      assertThat(store.renew(List.of(grant))).containsExactly(new Renewal.Renewed(Claims.TTL));
      assertThat(Thread.interrupted()).isTrue();
    }
  }

  @Test
  void anInterruptWhileWaitingForThePoolEndsNothingAndStaysSet() throws Exception {
    try (HikariDataSource pool = Server.H2.pool(2);
        JdbcStore store = Stores.open(Stores.settings(pool), Duration.ofSeconds(20))) {
      CompletableFuture<Boolean> granted = new CompletableFuture<>();
      AtomicBoolean interrupted = new AtomicBoolean();
      Thread thread;
      try (Connection last = pool.getConnection()) {
        assertThat(last.isValid(1)).isTrue();
        thread = new Thread(() -> {
          try {
            granted.complete(store.tryAcquire(claim(freshKey())).isPresent());
          } catch (Throwable t) {
            granted.completeExceptionally(t);
          }
          interrupted.set(Thread.currentThread().isInterrupted());
        });
        thread.start();
        Await.until(
            "the thread waits for the pool",
            () -> pool.getHikariPoolMXBean().getThreadsAwaitingConnection() == 1);
        thread.interrupt();
        Await.pause(Duration.ofMillis(50));
      }
      assertThat(granted.get(20, TimeUnit.SECONDS)).isTrue();
      thread.join();
      assertThat(interrupted).isTrue();
    }
  }

  @Test
  void ourInterruptNeverReachesTheCaller() throws Exception {
    // The pool answers at just the moment at which the budget ends.
    Duration timeout = Duration.ofMillis(20);
    try (HikariDataSource pool = Server.H2.pool(4)) {
      AtomicBoolean slow = new AtomicBoolean();
      DataSource slowPool = new Wrapper(pool) {
        @Override
        public Connection getConnection() throws SQLException {
          if (slow.get()) {
            long end = System.nanoTime() + timeout.toNanos();
            while (System.nanoTime() - end < 0) {
              Thread.onSpinWait();
            }
          }
          return wrapped.getConnection();
        }
      };
      try (JdbcStore store = openInAnyTime(slowPool, timeout)) {
        slow.set(true);
        for (int i = 0; i < 200; i++) {
          try {
            assertThat(store.inspect(freshKey())).isEmpty();
          } catch (StoreException e) {
            assertThat(e.mayHaveHappened()).isFalse();
          }
          assertThat(Thread.currentThread().isInterrupted()).isFalse();
        }
        slow.set(false);
      }
    }
  }

  /** A store whose calls have little time; to open it may need more, on a busy machine. */
  private static JdbcStore openInAnyTime(DataSource dataSource, Duration timeout)
      throws StoreException {
    long deadline = System.nanoTime() + Await.PATIENCE.toNanos();
    while (true) {
      try {
        return Stores.open(Stores.settings(dataSource), timeout);
      } catch (StoreException e) {
        if (System.nanoTime() - deadline > 0) {
          throw e;
        }
      }
    }
  }

  @EachRealServer
  void aServerThatDoesNotAnswerIsAFailureWithinTheStoreTimeout(Server server) throws Exception {
    try (HikariDataSource pool = server.pool(4);
        JdbcStore store = Stores.open(Stores.settings(pool), Duration.ofSeconds(4))) {
      Grant grant = store.tryAcquire(claim(freshKey())).orElseThrow();
      server.pause();
      try {
        long begin = System.nanoTime();
        StoreException failure =
            catchThrowableOfType(StoreException.class, () -> store.tryAcquire(claim(freshKey())));
        assertThat(failure).isNotNull().hasMessageNotContaining("exhausted");
        assertThat(catchThrowableOfType(StoreException.class, () -> store.renew(List.of(grant))))
            .isNotNull();
        assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(POOLS_OWN_TIMEOUT);
      } finally {
        server.unpause();
      }
      Await.until("the store works again", () -> isHeld(store, grant));
    }
  }

  private static boolean isHeld(JdbcStore store, Grant grant) {
    try {
      return store.renew(List.of(grant)).get(0) instanceof Renewal.Renewed;
    } catch (StoreException e) {
      return false;
    }
  }

  @Test
  void everyConnectionIsGivenBackWhateverHappens() throws Exception {
    try (HikariDataSource pool = Server.H2.pool(4)) {
      AtomicBoolean broken = new AtomicBoolean();
      DataSource breaking = new Wrapper(pool) {
        @Override
        public Connection getConnection() throws SQLException {
          return broken.get() ? failing(wrapped.getConnection()) : wrapped.getConnection();
        }
      };
      try (JdbcStore store = Stores.open(breaking)) {
        broken.set(true);
        for (int i = 0; i < 10; i++) {
          assertThatThrownBy(() -> store.tryAcquire(claim(freshKey())))
              .isInstanceOf(OutOfMemoryError.class);
        }
        broken.set(false);
        Await.until(
            "one is in use, the client's own",
            () -> pool.getHikariPoolMXBean().getActiveConnections() == 1);
      }
      Await.until("none is in use", () -> pool.getHikariPoolMXBean().getActiveConnections() == 0);
    }
  }

  private static Connection failing(Connection connection) {
    return (Connection) Proxy.newProxyInstance(
        Connection.class.getClassLoader(),
        new Class<?>[] {Connection.class},
        (proxy, method, arguments) -> {
          if (method.getName().equals("prepareStatement")) {
            throw new OutOfMemoryError("made up");
          }
          return method.invoke(connection, arguments);
        });
  }

  @Test
  void aClosedClientLeavesNoThreadAndNoConnection() throws Exception {
    try (HikariDataSource pool = Server.H2.pool(4)) {
      // Not the others' name: a thread of theirs may still wait for a pool's own timeout.
      String clientName = "test-" + UUID.randomUUID();
      JdbcStore store = Stores.open(Stores.settings(pool), Stores.STORE_TIMEOUT, clientName);
      CountDownLatch woken = new CountDownLatch(1);
      Grant grant = store.tryAcquire(claim(freshKey())).orElseThrow();
      assertThat(store.acquireOrQueue(claim(grant.claim().key()), woken::countDown))
          .isNotNull();
      store.close();
      store.close();
      Await.until(
          "our threads have ended",
          () -> Thread.getAllStackTraces().keySet().stream()
              .noneMatch(thread -> thread.getName().contains(clientName)));
      Await.until(
          "every connection is given back",
          () -> pool.getHikariPoolMXBean().getActiveConnections() == 0);
      assertThat(pool.isClosed()).isFalse();
    }
  }
}
