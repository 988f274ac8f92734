package io.holdfast.lock.jdbc;

import static io.holdfast.lock.testsupport.Claims.claim;
import static io.holdfast.lock.testsupport.Claims.freshKey;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.testsupport.Await;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.parallel.Isolated;

/** A table that is locked as a whole, as by DDL or by a backup. */
@Isolated("the table is locked, and the server is asked for all of its sessions")
class BlockedTableTest {
  private static final Duration STORE_TIMEOUT = Duration.ofSeconds(2);
  private static final int POOL = 3;
  private static final int THREADS = 4;
  private static final int FAILURES = 6;

  @EachRealServer
  void aClientLeavesNoMoreSessionsThanItsPoolHasAndGoesOnAfterwards(Server server)
      throws Exception {
    try (ServerSessions sessions = new ServerSessions(server);
        HikariDataSource pool = server.pool(POOL);
        JdbcStore store = Stores.open(Stores.settings(pool), STORE_TIMEOUT)) {
      LockKey key = freshKey();
      Grant held = store.tryAcquire(claim(key)).orElseThrow();
      Ticket waiter = queue(store, claim(key));
      try (Connection ddl = server.connect()) {
        lockTable(ddl, server);
        long before = sessions.all();
        failInAllThreads(store);
        // Those that had no answer the first time, and the pool's new ones in their place; two may
        // be on their way. Without a limit there is one more for most failures.
        assertThat(sessions.all() - before).isLessThanOrEqualTo(2 * POOL + 2);
        // No answer is not "taken".
        assertThatThrownBy(waiter::poll).isInstanceOf(StoreException.class);
      }
      Await.until("the table is unlocked", () -> canTake(store));
      waiter.close();
      store.release(held, Duration.ZERO);
      doEverything(server, store);
    }
  }

  private static void lockTable(Connection ddl, Server server) throws SQLException {
    ddl.setAutoCommit(server != Server.POSTGRES);
    try (Statement statement = ddl.createStatement()) {
      statement.execute(
          server == Server.POSTGRES
              ? "LOCK TABLE holdfast_lock IN ACCESS EXCLUSIVE MODE"
              : "LOCK TABLES holdfast_lock WRITE");
    }
  }

  private static void failInAllThreads(JdbcStore store) throws Exception {
    ExecutorService executor = Executors.newFixedThreadPool(THREADS);
    try {
      List<Future<?>> threads = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        threads.add(executor.submit(() -> {
          for (int k = 0; k < FAILURES; k++) {
            assertThat(canTake(store)).isFalse();
          }
        }));
      }
      for (Future<?> thread : threads) {
        thread.get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS);
      }
    } finally {
      executor.shutdownNow();
    }
  }

  private static boolean canTake(JdbcStore store) {
    try {
      store.release(store.tryAcquire(claim(freshKey())).orElseThrow(), Duration.ZERO);
      return true;
    } catch (StoreException e) {
      return false;
    }
  }

  /** The limit is still set, and so part of each statement. */
  private static void doEverything(Server server, JdbcStore store) throws Exception {
    LockKey key = freshKey();
    Grant grant = store.tryAcquire(claim(key)).orElseThrow();
    assertThat(store.tryAcquire(claim(key))).isEmpty();
    assertThat(store.renew(List.of(grant)).get(0)).isInstanceOf(Renewal.Renewed.class);
    assertThat(store.extend(grant, Duration.ofMinutes(2))).isPresent();
    assertThat(store.verify(grant)).isPresent();
    assertThat(store.list(LockKind.MUTEX, key.name(), 10)).hasSize(1);
    guard(server, grant);
    Ticket next = queue(store, claim(key));
    Claim leaving = claim(key);
    queue(store, leaving);
    store.withdraw(leaving);
    assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
    assertThat(next.poll()).isInstanceOf(Ticket.Granted.class);
    Await.until("it is seen", () -> number(store, key) > grant.number());
    assertThat(store.forceRelease(key, number(store, key))).isTrue();
    assertThat(store.inspect(key)).isEmpty();
  }

  private static Ticket queue(JdbcStore store, Claim claim) throws StoreException {
    return ((Acquisition.Queued) store.acquireOrQueue(claim, () -> {})).ticket();
  }

  private static long number(JdbcStore store, LockKey key) {
    try {
      return store.inspect(key).orElseThrow().number();
    } catch (StoreException e) {
      throw new AssertionError(e);
    }
  }

  /** A user's transaction keeps its own limits. */
  private static void guard(Server server, Grant grant) throws SQLException {
    String limit = server == Server.POSTGRES ? "SHOW lock_timeout" : "SELECT @@lock_wait_timeout";
    try (Connection transaction = server.connect()) {
      String before = ask(transaction, limit);
      transaction.setAutoCommit(false);
      JdbcGrant given = (JdbcGrant) grant;
      assertThat(given.dialect().guard(transaction, given.stored(), given.number()))
          .isTrue();
      assertThat(ask(transaction, limit)).isEqualTo(before);
      transaction.rollback();
    }
  }

  private static String ask(Connection connection, String question) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(question)) {
      assertThat(result.next()).isTrue();
      return result.getString(1);
    }
  }
}
