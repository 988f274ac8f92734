package io.holdfast.lock.jdbc;

import static io.holdfast.lock.testsupport.Claims.claim;
import static io.holdfast.lock.testsupport.Claims.freshKey;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import javax.sql.DataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** No request waits at the server for the row of a lock, which a transaction can keep locked. */
@Isolated("the server is asked for all of its sessions")
class LockedRowTest {
  /** Shorter than a lease, which goes on while requests wait for a row. */
  private static final Duration STORE_TIMEOUT = Duration.ofSeconds(5);

  /** A guard's transaction hangs, and its lease is over. */
  @EachRealServer
  void waitersForTheLockOfAGuardThatHangsWaitInTheirClients(Server server) throws Exception {
    waitForAGuard(server, 4, 3, Duration.ofSeconds(3));
  }

  @EachRealServer
  @Tag("soak")
  @Timeout(300)
  void fortyWaitersForTheLockOfAGuardThatHangsWaitInTheirClients(Server server) throws Exception {
    waitForAGuard(server, 40, 2, Duration.ofSeconds(60));
  }

  private static void waitForAGuard(Server server, int clients, int sessionsEach, Duration hang)
      throws Exception {
    String name = freshKey().name();
    List<AutoCloseable> opened = new ArrayList<>();
    List<CompletableFuture<Void>> waits = new ArrayList<>();
    ExecutorService executor = Executors.newCachedThreadPool();
    try (ServerSessions sessions = new ServerSessions(server);
        HikariDataSource pool = server.pool(sessionsEach);
        LockClient holder = client(pool)) {
      Lease lease = holder.get(name).lock();
      Stores.update(
          server, Claims.key(name), "UPDATE holdfast_lock SET expires_at = 1 WHERE name = ?");
      try (JdbcGuard guard = JdbcGuard.of(lease);
          Connection transaction = server.connect()) {
        transaction.setAutoCommit(false);
        guard.verify(transaction);
        for (int i = 0; i < clients; i++) {
          HikariDataSource ofWaiter = server.pool(sessionsEach);
          opened.add(0, ofWaiter);
          LockClient waiter = client(ofWaiter);
          opened.add(0, waiter);
          waits.add(CompletableFuture.runAsync(() -> takeOnce(waiter, name), executor));
        }
        long end = System.nanoTime() + hang.toNanos();
        while (System.nanoTime() - end < 0) {
          assertThat(sessions.thatWaitForLocks()).isZero();
          // Those of the pools, of the guard, and the one that asks.
          assertThat(sessions.all()).isLessThanOrEqualTo(sessionsEach * (clients + 1) + 2);
        }
        assertThat(waits).noneMatch(CompletableFuture::isDone);
        transaction.rollback();
      }
      for (CompletableFuture<Void> wait : waits) {
        wait.get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS);
      }
    } finally {
      for (AutoCloseable closeable : opened) {
        closeable.close();
      }
      executor.shutdown();
    }
  }

  private static void takeOnce(LockClient client, String name) {
    try (Lease lease = client.get(name).lock()) {
      assertThat(lease.isHeld()).isTrue();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static LockClient client(HikariDataSource pool) {
    return JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build();
  }

  @EachServer
  void nothingThatEndsAGrantOrAWaitHangsAndAllOfItIsDoneLater(Server server) throws Exception {
    LockKey key = freshKey();
    Duration storeTimeout = Duration.ofSeconds(2);
    try (ServerSessions sessions = new ServerSessions(server);
        HikariDataSource pool = server.pool(6);
        JdbcStore store = Stores.open(Stores.settings(pool), storeTimeout);
        Connection transaction = server.connect()) {
      Grant grant = store.tryAcquire(claim(key)).orElseThrow();
      Claim waiting = claim(key);
      Ticket waiter = ((Acquisition.Queued) store.acquireOrQueue(waiting, () -> {})).ticket();
      Ticket leaver = queue(store, key);
      transaction.setAutoCommit(false);
      lockRow(transaction, server, key);

      for (Ending ending : List.<Ending>of(
          () -> store.release(grant, Duration.ZERO),
          () -> store.withdraw(grant.claim()),
          () -> store.forceRelease(key, grant.number()))) {
        assertThatThrownBy(ending::run)
            .isInstanceOf(StoreException.class)
            .hasMessageContaining("has the lock's row locked");
      }
      assertThat(waiter.poll()).isInstanceOf(Ticket.Waiting.class);
      leaver.close();
      assertThat(sessions.thatWaitForLocks()).isZero();

      transaction.rollback();
      assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      Await.until("the lock was handed over", () -> isGranted(waiter));
      store.withdraw(waiting);
      assertThat(store.inspect(key)).isEmpty();
    }
  }

  /** The guard was closed too early. */
  @EachServer
  void aReleaseDoesNotWaitForTheTransactionOfAGuard(Server server) throws Exception {
    String name = freshKey().name();
    try (ServerSessions sessions = new ServerSessions(server);
        HikariDataSource pool = server.pool(6);
        LockClient holder = client(pool);
        LockClient next = client(pool);
        Connection transaction = server.connect()) {
      Lease lease = holder.get(name).lock();
      transaction.setAutoCommit(false);
      try (JdbcGuard guard = JdbcGuard.of(lease)) {
        guard.verify(transaction);
      }
      CompletableFuture<Void> closed = CompletableFuture.runAsync(lease::close);
      long end = System.nanoTime() + Duration.ofSeconds(3).toNanos();
      while (System.nanoTime() - end < 0) {
        assertThat(sessions.thatWaitForLocks()).isZero();
      }
      transaction.rollback();
      closed.get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS);
      Await.until("the lock is free", () -> next.get(name).inspect().isEmpty());
    }
  }

  /** As each waiter's own report that it is alive does, for a moment. */
  @EachRealServer
  void aHandOverDoesNotWaitForTheRowOfAnyWaiterButTheFirst(Server server) throws Exception {
    LockKey key = freshKey();
    try (HikariDataSource pool = server.pool(6);
        JdbcStore store = Stores.open(pool);
        Connection transaction = server.connect()) {
      Grant grant = store.tryAcquire(claim(key)).orElseThrow();
      Ticket first = queue(store, key);
      queue(store, key);
      transaction.setAutoCommit(false);
      execute(
          transaction,
          server,
          key,
          "SELECT place FROM holdfast_lock_waiter WHERE name = ? ORDER BY place DESC LIMIT 1"
              + " FOR UPDATE");

      assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      Await.until("the lock was handed over", () -> isGranted(first));
      transaction.rollback();
    }
  }

  /** As by a client without autocommit that was frozen before it could commit. */
  @EachRealServer
  void aReleasePassesOverAWaiterWhoseRowStaysLocked(Server server) throws Exception {
    LockKey key = freshKey();
    try (HikariDataSource pool = server.pool(8);
        JdbcStore store = Stores.open(pool);
        JdbcStore other = Stores.open(pool);
        Connection frozen = server.connect()) {
      Grant grant = store.tryAcquire(claim(key)).orElseThrow();
      queue(store, key);
      Ticket second = queue(other, key);
      frozen.setAutoCommit(false);
      execute(
          frozen,
          server,
          key,
          "SELECT place FROM holdfast_lock_waiter WHERE name = ? ORDER BY place LIMIT 1"
              + " FOR UPDATE");

      assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      Await.until("the second has the lock", () -> isGranted(second));
      frozen.rollback();
    }
  }

  @Test
  void aTransactionThatIsFrozenBeforeItsCommitIsEndedByPostgres() throws Exception {
    LockKey key = freshKey();
    CountDownLatch reached = new CountDownLatch(1);
    CountDownLatch thawed = new CountDownLatch(1);
    AtomicBoolean freezes = new AtomicBoolean();
    try (HikariDataSource pool = Server.POSTGRES.pool(6, config -> config.setAutoCommit(false));
        HikariDataSource others = Server.POSTGRES.pool(4);
        JdbcStore other = Stores.open(Stores.settings(others), STORE_TIMEOUT);
        JdbcStore store = Stores.open(
            new JdbcStore.Settings(
                beforeCommit(pool, connection -> {
                  if (freezes.get()) {
                    reached.countDown();
                    thawed.await();
                  }
                }),
                JdbcLocks.DEFAULT_TABLE,
                SchemaMode.CREATE,
                true,
                false),
            STORE_TIMEOUT)) {
      store.release(store.tryAcquire(claim(key)).orElseThrow(), Duration.ZERO);
      freezes.set(true);
      CompletableFuture<Object> frozen = CompletableFuture.supplyAsync(() -> {
        try {
          return store.tryAcquire(claim(key));
        } catch (StoreException e) {
          return e;
        }
      });
      try {
        assertThat(reached.await(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        assertThat(canTake(other, key)).isFalse();
        Await.until("its row is not locked any more", () -> canTake(other, key));
      } finally {
        freezes.set(false);
        thawed.countDown();
      }
      assertThat(frozen.get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS))
          .isInstanceOf(StoreException.class);
    }
  }

  @Test
  void aShorterLimitThatASessionHasStays() throws Exception {
    assertThat(limitOfIdleTransactions("0")).isEqualTo("10s");
    assertThat(limitOfIdleTransactions("1h")).isEqualTo("10s");
    assertThat(limitOfIdleTransactions("3s")).isEqualTo("3s");
  }

  private static String limitOfIdleTransactions(String ofSession) throws Exception {
    AtomicReference<String> limit = new AtomicReference<>();
    try (HikariDataSource pool = Server.POSTGRES.pool(4, config -> {
          config.setAutoCommit(false);
          config.addDataSourceProperty(
              "options", "-c idle_in_transaction_session_timeout=" + ofSession);
        });
        JdbcStore store = Stores.open(
            new JdbcStore.Settings(
                beforeCommit(pool, connection -> limit.set(show(connection))),
                JdbcLocks.DEFAULT_TABLE,
                SchemaMode.CREATE,
                true,
                false),
            STORE_TIMEOUT)) {
      assertThat(store.tryAcquire(claim(freshKey()))).isPresent();
      return limit.get();
    }
  }

  private static String show(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery("SHOW idle_in_transaction_session_timeout")) {
      assertThat(result.next()).isTrue();
      return result.getString(1);
    }
  }

  private static boolean canTake(JdbcStore store, LockKey key) {
    try {
      store.release(store.tryAcquire(claim(key)).orElseThrow(), Duration.ZERO);
      return true;
    } catch (StoreException e) {
      return false;
    }
  }

  /** Something that happens before a commit. */
  private interface Interlude {
    void run(Connection connection) throws Exception;
  }

  private static DataSource beforeCommit(DataSource pool, Interlude interlude) {
    return new Wrapper(pool) {
      @Override
      public Connection getConnection() throws SQLException {
        Connection connection = wrapped.getConnection();
        return (Connection) Proxy.newProxyInstance(
            Connection.class.getClassLoader(),
            new Class<?>[] {Connection.class},
            (proxy, method, arguments) -> {
              if (method.getName().equals("commit")) {
                interlude.run(connection);
              }
              try {
                return method.invoke(connection, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
      }
    };
  }

  /** Something that ends a grant. */
  private interface Ending {
    void run() throws StoreException;
  }

  private static Ticket queue(JdbcStore store, LockKey key) throws StoreException {
    return ((Acquisition.Queued) store.acquireOrQueue(claim(key), () -> {})).ticket();
  }

  private static boolean isGranted(Ticket ticket) {
    try {
      return ticket.poll() instanceof Ticket.Granted;
    } catch (StoreException e) {
      throw new AssertionError(e);
    }
  }

  /** Between the two statements of a waiter that leaves, without autocommit and at one snapshot. */
  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MYSQL"})
  void aWaiterThatLeavesWhileItGetsTheLockGivesItBack(Server server) throws Exception {
    LockKey key = freshKey();
    try (ServerSessions sessions = new ServerSessions(server);
        HikariDataSource pool = server.pool(6, config -> {
          config.setAutoCommit(false);
          config.setTransactionIsolation("TRANSACTION_REPEATABLE_READ");
        });
        JdbcStore store = Stores.open(
            new JdbcStore.Settings(pool, JdbcLocks.DEFAULT_TABLE, SchemaMode.CREATE, true, false),
            STORE_TIMEOUT);
        Connection handOver = server.connect()) {
      assertThat(store.tryAcquire(claim(key))).isPresent();
      var leaving = claim(key);
      Ticket leaver = ((Acquisition.Queued) store.acquireOrQueue(leaving, () -> {})).ticket();
      handOver.setAutoCommit(false);
      execute(
          handOver,
          server,
          key,
          "SELECT place FROM holdfast_lock_waiter WHERE name = ? FOR UPDATE");
      CompletableFuture<Void> left = CompletableFuture.runAsync(() -> {
        try {
          leaver.close();
        } catch (StoreException e) {
          throw new AssertionError(e);
        }
      });
      Await.until("its row is waited for", () -> sessions.thatWaitForRows() > 0);
      execute(
          handOver,
          server,
          key,
          "UPDATE holdfast_lock SET owner = '" + leaving.ownerId() + "' WHERE name = ?");
      handOver.commit();

      left.get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS);
      assertThat(store.inspect(key)).isEmpty();
    }
  }

  private static void lockRow(Connection transaction, Server server, LockKey key)
      throws SQLException {
    execute(transaction, server, key, "SELECT number FROM holdfast_lock WHERE name = ? FOR UPDATE");
  }

  private static void execute(Connection transaction, Server server, LockKey key, String sql)
      throws SQLException {
    try (PreparedStatement statement = Stores.prepare(transaction, server, key, sql)) {
      statement.execute();
    }
  }
}
