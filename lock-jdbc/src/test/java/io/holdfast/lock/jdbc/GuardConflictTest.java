package io.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockClientClosedException;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Writes between a guarded transaction's first read and its end cost a try, and no lease. */
class GuardConflictTest {
  private static final int WAITERS = 10;
  private static final Duration STORE_TIMEOUT = Duration.ofSeconds(3);

  /** Renewed every three seconds. */
  private static final LockOptions RENEWED = LockOptions.renewed(Duration.ofSeconds(9));

  @EachServer
  @Execution(ExecutionMode.CONCURRENT)
  void transactionsOfALeaseThatOthersWaitForAllCommit(Server server) throws Exception {
    commitAll(server, 12, Duration.ofMillis(300));
  }

  @EachServer
  @Tag("soak")
  void aThousandTransactionsOfALeaseThatOthersWaitForAllCommit(Server server) throws Exception {
    commitAll(server, 1_000, Duration.ofMillis(server == Server.MARIADB ? 300 : 30));
  }

  /** One after the other, each begun by a read, with the server's default isolation. */
  private static void commitAll(Server server, int transactions, Duration work) throws Exception {
    String name = GuardFixture.freshName();
    ExecutorService executor = Executors.newFixedThreadPool(WAITERS);
    List<LockClient> waiters = new ArrayList<>();
    List<CompletableFuture<Void>> waits = new ArrayList<>();
    try (GuardFixture fixture = new GuardFixture(server);
        HikariDataSource pool = server.pool(2 * WAITERS + 4);
        LockClient locks = client(pool);
        Lease lease = locks.get(name, RENEWED).lock()) {
      for (int i = 0; i < WAITERS; i++) {
        LockClient waiter = client(pool);
        waiters.add(waiter);
        waits.add(CompletableFuture.runAsync(
            () -> assertThatThrownBy(() -> waiter.get(name, RENEWED).lock())
                .isInstanceOf(LockClientClosedException.class),
            executor));
      }
      for (int i = 0; i < transactions; i++) {
        JdbcGuard.inTransaction(lease, pool, 5, transaction -> {
          fixture.read(transaction);
          Await.pause(work);
          fixture.add(transaction);
        });
      }
      assertThat(fixture.count()).isEqualTo(transactions);
      assertThat(lease.state()).isEqualTo(LeaseState.HELD);
      lease.verify();
      waiters.forEach(LockClient::close);
      for (CompletableFuture<Void> wait : waits) {
        wait.get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS);
      }
    } finally {
      waiters.forEach(LockClient::close);
      executor.shutdown();
    }
  }

  private static LockClient client(HikariDataSource pool) {
    return JdbcLocks.builder(pool)
        .storeTimeout(STORE_TIMEOUT)
        .schema(SchemaMode.CREATE)
        .build();
  }

  /** The row is written to as a renewal or a waiter's note would, after the snapshot was made. */
  @EachServer
  @Execution(ExecutionMode.CONCURRENT)
  void aLeaseWhoseRowWasOnlyWrittenToIsNotCalledLost(Server server) throws Exception {
    try (GuardFixture fixture = new GuardFixture(server)) {
      for (int isolation : GuardFixture.ISOLATIONS) {
        String name = GuardFixture.freshName();
        try (Lease lease = fixture.locks.get(name).lock();
            JdbcGuard guard = JdbcGuard.of(lease);
            Connection transaction = fixture.begin(isolation)) {
          fixture.read(transaction);
          Stores.update(
              server,
              Claims.key(name),
              "UPDATE holdfast_lock SET wanted_until = wanted_until + 1 WHERE name = ?");
          try {
            guard.verify(transaction);
            transaction.commit();
          } catch (SQLException e) {
            transaction.rollback();
          }
          assertThat(lease.state()).isEqualTo(LeaseState.HELD);
          lease.verify();
        }
      }
    }
  }

  /** A refused guard that has not rolled back yet keeps nobody from its lock. */
  @EachServer
  @Execution(ExecutionMode.CONCURRENT)
  void aRefusedGuardLocksNobodysRow(Server server) throws Exception {
    try (GuardFixture fixture = new GuardFixture(server)) {
      for (int isolation : GuardFixture.ISOLATIONS) {
        refuse(fixture, server, isolation, fixture::read);
        refuse(fixture, server, isolation, transaction -> {});
      }
    }
  }

  private static void refuse(
      GuardFixture fixture, Server server, int isolation, JdbcGuard.Work<SQLException> before)
      throws SQLException {
    String name = GuardFixture.freshName();
    Lease stale = fixture.locks.get(name).tryLock().orElseThrow();
    try (JdbcGuard guard = JdbcGuard.of(stale);
        Connection transaction = fixture.begin(isolation)) {
      before.run(transaction);
      try (Lease thief = fixture.steal(name, stale)) {
        assertThatThrownBy(() -> guard.verify(transaction)).isInstanceOf(LockLostException.class);
        assertThat(GuardFixture.isRowUnlocked(server, name)).as("%s", isolation).isTrue();
        thief.verify();
      }
      // Released while the stale transaction is still open.
      assertThat(fixture.others.get(name).inspect()).isEmpty();
      transaction.rollback();
    }
    assertThatThrownBy(stale::close).isInstanceOf(LockLostException.class);
  }

  @EachServer
  @Execution(ExecutionMode.CONCURRENT)
  void workIsRunAgainFromItsStartWhenTheDatabaseUndidItAndNoOftenerThanAsked(Server server)
      throws Exception {
    try (GuardFixture fixture = new GuardFixture(server);
        Lease lease = fixture.locks.get(GuardFixture.freshName()).lock()) {
      AtomicInteger runs = new AtomicInteger();
      JdbcGuard.inTransaction(lease, fixture.pool, 3, transaction -> {
        fixture.add(transaction);
        int run = runs.incrementAndGet();
        if (run < 3) {
          throw new IllegalStateException(
              "as a framework wraps it", run == 1 ? undone(server) : undoneByAnotherNode(server));
        }
      });
      assertThat(runs).hasValue(3);
      assertThat(fixture.count()).isEqualTo(1);

      assertThatThrownBy(() -> JdbcGuard.inTransaction(lease, fixture.pool, 2, transaction -> {
            runs.incrementAndGet();
            throw undone(server);
          }))
          .isInstanceOf(SQLException.class);
      assertThat(runs).hasValue(5);

      assertThatThrownBy(() -> JdbcGuard.inTransaction(lease, fixture.pool, 2, transaction -> {
            runs.incrementAndGet();
            throw new SQLException("a constraint of the caller's", "23000");
          }))
          .hasMessageContaining("constraint");
      assertThat(runs).hasValue(6);
      lease.verify();
    }
  }

  /** As each of these databases reports a deadlock. */
  private static SQLException undone(Server server) {
    return new SQLException(
        "made up",
        server == Server.POSTGRES ? "40P01" : "40001",
        server == Server.H2 ? 40001 : 1213);
  }

  /** As MySQL's group replication reports that the commit of another node came first. */
  private static SQLException undoneByAnotherNode(Server server) {
    return server.isMySqlFamily() ? new SQLException("made up", "40000", 3101) : undone(server);
  }
}
