package io.holdfast.lock.jdbc;

import static io.holdfast.lock.jdbc.Stores.endMicros;
import static io.holdfast.lock.testsupport.Claims.claim;
import static io.holdfast.lock.testsupport.Claims.freshKey;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** An extension gives a lease more time, and never less, nor anything to a lease that is over. */
class ExtendTest {
  private static final Duration LONG = Duration.ofMinutes(10);

  @EachServer
  void anExtendedLeaseEndsLaterAndVerifyTellsIt(Server server) throws Exception {
    try (HikariDataSource pool = server.pool(4);
        JdbcStore store = Stores.open(pool)) {
      Grant grant = store.tryAcquire(claim(freshKey())).orElseThrow();
      long endBefore = endMicros(server, grant);

      assertThat(store.extend(grant, LONG)).contains(LONG);

      assertThat(endMicros(server, grant) - endBefore)
          .isGreaterThanOrEqualTo(Keys.micros(LONG.minus(Claims.TTL)));
      assertThat(store.verify(grant).orElseThrow()).isBetween(LONG.minusSeconds(20), LONG);
      assertThat(store.tryAcquire(claim(grant.claim().key()))).isEmpty();
      assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      assertThat(store.tryAcquire(claim(grant.claim().key()))).isPresent();
    }
  }

  @EachServer
  void anExtensionNeverShortensALease(Server server) throws Exception {
    try (HikariDataSource pool = server.pool(4);
        JdbcStore store = Stores.open(pool)) {
      Grant grant = store.tryAcquire(claim(freshKey(), LONG)).orElseThrow();
      long endBefore = endMicros(server, grant);

      Duration left = store.extend(grant, Claims.TTL).orElseThrow();

      assertThat(left).isBetween(LONG.minusSeconds(20), LONG);
      assertThat(endMicros(server, grant)).isEqualTo(endBefore);
    }
  }

  @EachServer
  void aLeaseWhoseRowIsGoneIsNotRevived(Server server) throws Exception {
    try (HikariDataSource pool = server.pool(4);
        JdbcStore store = Stores.open(pool)) {
      Grant purged = store.tryAcquire(claim(freshKey())).orElseThrow();
      Stores.update(server, purged.claim().key(), "DELETE FROM holdfast_lock WHERE name = ?");
      assertThat(store.extend(purged, LONG)).isEmpty();
      assertThat(store.inspect(purged.claim().key())).isEmpty();
    }
  }

  @EachServer
  void theLeaseOfTheNextHolderIsLeftAlone(Server server) throws Exception {
    try (HikariDataSource pool = server.pool(4);
        JdbcStore store = Stores.open(pool)) {
      LockKey key = freshKey();
      Grant first = store.tryAcquire(claim(key)).orElseThrow();
      Stores.expire(server, first);
      Grant second = store.tryAcquire(claim(key)).orElseThrow();
      long endBefore = endMicros(server, second);

      assertThat(store.extend(first, LONG)).isEmpty();
      JdbcGrant stored = (JdbcGrant) second;
      Grant sameOwnerOlderNumber = JdbcGrant.of(
          stored.database(), second.claim(), stored.stored(), first.number(), Claims.TTL, false);
      assertThat(store.extend(sameOwnerOlderNumber, LONG)).isEmpty();
      assertThat(store.renew(List.of(sameOwnerOlderNumber))).containsExactly(new Renewal.Lost());

      assertThat(endMicros(server, second)).isEqualTo(endBefore);
      assertThat(store.verify(second)).isPresent();
    }
  }

  @EachServer
  void aGuardedTransactionHoldsUpAnExtensionForTheStoreTimeoutAtMost(Server server)
      throws Exception {
    Duration storeTimeout = Duration.ofSeconds(2);
    try (HikariDataSource pool = server.pool(4);
        JdbcStore store = Stores.open(Stores.settings(pool), storeTimeout);
        Connection transaction = server.connect()) {
      JdbcGrant grant = (JdbcGrant) store.tryAcquire(claim(freshKey())).orElseThrow();
      long endBefore = endMicros(server, grant);
      transaction.setAutoCommit(false);
      guard(transaction, grant);

      long begin = System.nanoTime();
      assertThatThrownBy(() -> store.extend(grant, LONG))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("locked");
      // Far sooner than a database gives up by itself.
      assertThat(System.nanoTime() - begin)
          .isLessThan(storeTimeout.plusSeconds(8).toNanos());
      assertThat(endMicros(server, grant)).isEqualTo(endBefore);
      // What needs no write is told.
      assertThat(store.extend(grant, Duration.ofSeconds(3)).orElseThrow())
          .isBetween(Duration.ofSeconds(3), Claims.TTL);

      transaction.commit();
      assertThat(store.extend(grant, LONG)).contains(LONG);
    }
  }

  @EachServer
  void anExtensionGoesOnWhenTheGuardedTransactionIsOver(Server server) throws Exception {
    ExecutorService executor = Executors.newSingleThreadExecutor();
    try (HikariDataSource pool = server.pool(4);
        JdbcStore store = Stores.open(Stores.settings(pool), Duration.ofSeconds(20));
        Connection transaction = server.connect()) {
      JdbcGrant grant = (JdbcGrant) store.tryAcquire(claim(freshKey())).orElseThrow();
      transaction.setAutoCommit(false);
      guard(transaction, grant);
      Future<Optional<Duration>> extension = executor.submit(() -> store.extend(grant, LONG));
      Await.pause(Duration.ofMillis(300));
      assertThat(extension).isNotDone();

      transaction.commit();

      assertThat(extension.get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS)).contains(LONG);
    } finally {
      executor.shutdown();
    }
  }

  private static void guard(Connection transaction, JdbcGrant grant) throws SQLException {
    assertThat(grant.dialect().guard(transaction, grant.stored(), grant.number()))
        .isTrue();
  }

  @EachRealServer
  @Execution(ExecutionMode.CONCURRENT)
  void anExtensionThatIsHeldUpPastTheEndRevivesNothing(Server server) throws Exception {
    assertThat(heldUpPastTheEnd(server, (store, grant) -> store.extend(grant, LONG)))
        .isEqualTo(Optional.empty());
  }

  @EachRealServer
  @Execution(ExecutionMode.CONCURRENT)
  void aRenewalThatIsHeldUpPastTheEndRevivesNothing(Server server) throws Exception {
    assertThat(heldUpPastTheEnd(server, (store, grant) -> store.renew(List.of(grant))))
        .isEqualTo(List.of(new Renewal.Lost()));
  }

  /** A way to give a lease more time. */
  @FunctionalInterface
  private interface Prolonging {
    Object with(JdbcStore store, Grant grant) throws StoreException;
  }

  /**
   * A table lock, as of a DDL or a backup, holds the statement up after it has begun; returns what
   * the store answered when the lease was over.
   */
  private static Object heldUpPastTheEnd(Server server, Prolonging prolonging) throws Exception {
    String table = "late_" + UUID.randomUUID().toString().substring(0, 8);
    ExecutorService executor = Executors.newSingleThreadExecutor();
    try (HikariDataSource pool = server.pool(4);
        JdbcStore store = Stores.open(
            new JdbcStore.Settings(pool, table, SchemaMode.CREATE, false, null),
            Duration.ofSeconds(20));
        Connection other = server.connect();
        Connection watcher = server.connect()) {
      Duration ttl = Duration.ofSeconds(6);
      Grant grant = store.tryAcquire(claim(freshKey(), ttl)).orElseThrow();
      long over = System.nanoTime() + ttl.plusMillis(100).toNanos();
      // A renewal gives a TTL from when it began, so only a late one would outlast the end by much.
      Await.pause(ttl.dividedBy(2));
      other.setAutoCommit(false);
      execute(
          other,
          server == Server.POSTGRES
              ? "LOCK TABLE " + table + " IN EXCLUSIVE MODE"
              : "LOCK TABLES " + table + " WRITE");
      Future<Object> prolonged = executor.submit(() -> prolonging.with(store, grant));
      Await.until("it is held up", () -> isHeldUp(watcher, server, table));
      assertThat(System.nanoTime()).as("it began in time").isLessThan(over);
      Await.until("the lease is over", () -> System.nanoTime() - over > 0);

      execute(other, server == Server.POSTGRES ? "COMMIT" : "UNLOCK TABLES");

      Object answer = prolonged.get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS);
      assertThat(store.inspect(grant.claim().key())).isEmpty();
      execute(watcher, "DROP TABLE " + table);
      return answer;
    } finally {
      executor.shutdown();
    }
  }

  private static boolean isHeldUp(Connection watcher, Server server, String table) {
    try (Statement statement = watcher.createStatement();
        ResultSet result = statement.executeQuery(
            server == Server.POSTGRES
                ? "SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND relation = '" + table
                    + "'::regclass"
                : "SELECT COUNT(*) FROM information_schema.processlist"
                    + " WHERE state LIKE 'Waiting for table%' AND info LIKE '%UPDATE%" + table
                    + "%'")) {
      return result.next() && result.getInt(1) > 0;
    } catch (SQLException e) {
      throw new AssertionError(e);
    }
  }

  private static void execute(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  @EachServer
  void anExhaustedPoolDoesNotKeepALeaseFromBeingExtended(Server server) throws Exception {
    try (HikariDataSource pool = server.pool(2);
        JdbcStore store = Stores.open(Stores.settings(pool), Duration.ofSeconds(4))) {
      Grant grant = store.tryAcquire(claim(freshKey())).orElseThrow();
      try (Connection last = pool.getConnection()) {
        assertThat(last.isClosed()).isFalse();
        assertThat(store.extend(grant, LONG)).contains(LONG);
      }
    }
  }
}
