package io.holdfast.lock.jdbc;

import static io.holdfast.lock.testsupport.Claims.claim;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.spi.Acquisition;
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
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.api.parallel.Resources;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Notifications that do not come. */
class PostgresListenerTest {
  private static final Duration STORE_TIMEOUT = Duration.ofSeconds(5);

  @Test
  void aClientWithoutNotificationsHasNoneSent() throws Exception {
    try (HikariDataSource pool = Server.POSTGRES.pool(4);
        JdbcStore store = Stores.open(
            new JdbcStore.Settings(pool, JdbcLocks.DEFAULT_TABLE, SchemaMode.CREATE, false, false),
            STORE_TIMEOUT);
        Connection admin = Server.POSTGRES.connect()) {
      LockKey key = Claims.freshKey();
      assertThat(store.tryAcquire(Claims.claim(key))).isPresent();
      Acquisition queued = store.acquireOrQueue(Claims.claim(key), () -> {});
      assertThat(queued).isInstanceOf(Acquisition.Queued.class);
      try (PreparedStatement waiters = Stores.prepare(
              admin,
              Server.POSTGRES,
              key,
              "SELECT inbox FROM holdfast_lock_waiter WHERE name = ?");
          ResultSet waiter = waiters.executeQuery()) {
        assertThat(waiter.next()).isTrue();
        assertThat(waiter.getString(1)).isNull();
      }
    }
  }

  @Test
  void oneThatGoesAstrayIsNotTheEndOfListening() throws Exception {
    String application = UUID.randomUUID().toString();
    AtomicInteger sent = new AtomicInteger();
    try (HikariDataSource pool = Server.POSTGRES.pool(
            5, config -> config.addDataSourceProperty("ApplicationName", application));
        JdbcStore store = Stores.open(Stores.settings(losingTheFirst(pool, sent)), STORE_TIMEOUT)) {
      Grant grant = store.tryAcquire(claim(Claims.freshKey())).orElseThrow();
      assertThat(store.acquireOrQueue(claim(grant.claim().key()), () -> {}))
          .isInstanceOf(Acquisition.Queued.class);
      Await.until("it is sent again", () -> sent.get() >= 2);
      Await.pause(Duration.ofMillis(2_500)); // By then one that was not heard has been given up.
      assertThat(isListening(application)).isTrue();
      store.release(grant, Duration.ZERO);
    }
  }

  @Test
  void aPoolThatAnswersLateIsNotTakenForADeafConnection() throws Exception {
    String application = UUID.randomUUID().toString();
    CountDownLatch answered = new CountDownLatch(1);
    try (HikariDataSource pool = Server.POSTGRES.pool(
            5, config -> config.addDataSourceProperty("ApplicationName", application));
        JdbcStore store =
            Stores.open(Stores.settings(answeringLate(pool, answered)), STORE_TIMEOUT)) {
      Grant grant = store.tryAcquire(claim(Claims.freshKey())).orElseThrow();
      assertThat(store.acquireOrQueue(claim(grant.claim().key()), () -> {}))
          .isInstanceOf(Acquisition.Queued.class);
      assertThat(answered.await(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
      Await.pause(Duration.ofSeconds(2)); // By then one that is taken for deaf has been given up.
      assertThat(isListening(application)).isTrue();
      store.release(grant, Duration.ZERO);
    }
  }

  @Test
  void thePoolsLastConnectionIsNotKept() throws Exception {
    try (HikariDataSource pool = Server.POSTGRES.pool(2);
        JdbcStore store = Stores.open(Stores.settings(pool), STORE_TIMEOUT)) {
      Grant grant = store.tryAcquire(claim(Claims.freshKey())).orElseThrow();
      assertThat(store.acquireOrQueue(claim(grant.claim().key()), () -> {}))
          .isInstanceOf(Acquisition.Queued.class);
      Await.pause(Duration.ofMillis(2_500)); // By then it has been given back.
      assertThat(store.tryAcquire(claim(Claims.freshKey()))).isPresent();
      store.release(grant, Duration.ZERO);
    }
  }

  @Test
  void whoWantsNoneListensToNone() throws Exception {
    String application = UUID.randomUUID().toString();
    try (HikariDataSource pool = Server.POSTGRES.pool(
            5, config -> config.addDataSourceProperty("ApplicationName", application));
        JdbcStore store = Stores.open(
            new JdbcStore.Settings(
                pool, JdbcLocks.DEFAULT_TABLE, SchemaMode.CREATE, false, Boolean.FALSE),
            STORE_TIMEOUT)) {
      Grant grant = store.tryAcquire(claim(Claims.freshKey())).orElseThrow();
      assertThat(store.acquireOrQueue(claim(grant.claim().key()), () -> {}))
          .isInstanceOf(Acquisition.Queued.class);
      Await.pause(Duration.ofSeconds(2));
      assertThat(isListening(application)).isFalse();
      store.release(grant, Duration.ZERO);
    }
  }

  /** Somebody listens in a transaction that does not end. */
  @ParameterizedTest(name = "autocommit: {0}")
  @ValueSource(booleans = {true, false})
  @ResourceLock(Resources.GLOBAL) // The queue is that of the whole server.
  void aHandOverIsFoundWithoutANotificationWhileTheirQueueIsFull(boolean autoCommit)
      throws Exception {
    try (HikariDataSource pool =
            Server.POSTGRES.pool(8, config -> config.setAutoCommit(autoCommit));
        JdbcStore holder = open(pool, autoCommit);
        JdbcStore store = open(pool, autoCommit);
        Connection deaf = Server.POSTGRES.connect();
        Connection sender = Server.POSTGRES.connect()) {
      Grant grant = holder.tryAcquire(claim(Claims.freshKey())).orElseThrow();
      Ticket ticket = ((Acquisition.Queued)
              store.acquireOrQueue(claim(grant.claim().key()), () -> {}))
          .ticket();
      execute(deaf, "LISTEN nobody_reads");
      deaf.setAutoCommit(false);
      execute(deaf, "SELECT 1");
      try {
        assertThatThrownBy(() -> fillTheQueue(sender))
            .hasMessageContaining("too many notifications in the NOTIFY queue");

        assertThat(holder.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
        Await.until("the lock was handed over", () -> isGranted(ticket));
      } finally {
        deaf.rollback();
        // Of its own accord the server clears the queue only for a notification that still gets in.
        Await.until("the queue is empty for the other tests", () -> isQueueEmpty(sender));
      }
    }
  }

  private static boolean isQueueEmpty(Connection connection) {
    try (Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery("SELECT pg_notification_queue_usage() = 0")) {
      return result.next() && result.getBoolean(1);
    } catch (SQLException e) {
      throw new AssertionError(e);
    }
  }

  private static JdbcStore open(DataSource pool, boolean autoCommit) throws StoreException {
    return Stores.open(
        new JdbcStore.Settings(pool, JdbcLocks.DEFAULT_TABLE, SchemaMode.CREATE, !autoCommit, null),
        STORE_TIMEOUT);
  }

  private static void fillTheQueue(Connection sender) throws SQLException {
    for (int i = 0; i < 1_000; i++) {
      execute(sender, "SELECT pg_notify('nobody_reads', repeat('x', 7900) || " + i + ")");
    }
  }

  private static boolean isGranted(Ticket ticket) {
    try {
      return ticket.poll() instanceof Ticket.Granted;
    } catch (StoreException e) {
      throw new AssertionError(e);
    }
  }

  private static void execute(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  private static DataSource losingTheFirst(DataSource pool, AtomicInteger sent) {
    return new Wrapper(pool) {
      @Override
      public Connection getConnection() throws SQLException {
        return losingTheFirst(wrapped.getConnection(), sent);
      }
    };
  }

  private static Connection losingTheFirst(Connection connection, AtomicInteger sent) {
    return (Connection) Proxy.newProxyInstance(
        Connection.class.getClassLoader(),
        new Class<?>[] {Connection.class},
        (proxy, method, arguments) -> {
          if (method.getName().equals("prepareStatement")
              && arguments[0].toString().contains("FROM pg_notify(")
              && sent.incrementAndGet() == 1) {
            return connection.prepareStatement("SELECT 1 WHERE ?::text <> ?::text");
          }
          try {
            return method.invoke(connection, arguments);
          } catch (InvocationTargetException e) {
            throw e.getCause();
          }
        });
  }

  /** Takes a connection back only after the time for a test notification, which was sent on it. */
  private static DataSource answeringLate(DataSource pool, CountDownLatch answered) {
    return new Wrapper(pool) {
      @Override
      public Connection getConnection() throws SQLException {
        return answeringLate(wrapped.getConnection(), answered);
      }
    };
  }

  private static Connection answeringLate(Connection connection, CountDownLatch answered) {
    AtomicBoolean notifies = new AtomicBoolean();
    return (Connection) Proxy.newProxyInstance(
        Connection.class.getClassLoader(),
        new Class<?>[] {Connection.class},
        (proxy, method, arguments) -> {
          if (method.getName().equals("prepareStatement")
              && arguments[0].toString().contains("FROM pg_notify(")) {
            notifies.set(true);
          }
          boolean late = method.getName().equals("close") && notifies.get();
          if (late && answered.getCount() > 0) {
            Await.pause(Duration.ofMillis(2_200));
          }
          try {
            return method.invoke(connection, arguments);
          } catch (InvocationTargetException e) {
            throw e.getCause();
          } finally {
            if (late) {
              answered.countDown();
            }
          }
        });
  }

  private static boolean isListening(String application) throws SQLException {
    try (Connection connection = Server.POSTGRES.connect();
        PreparedStatement statement =
            connection.prepareStatement("SELECT EXISTS (SELECT FROM pg_stat_activity"
                + " WHERE application_name = ? AND query LIKE 'LISTEN%')")) {
      statement.setString(1, application);
      try (ResultSet result = statement.executeQuery()) {
        return result.next() && result.getBoolean(1);
      }
    }
  }
}
