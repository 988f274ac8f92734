package io.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.jdbc.GuardFixture.Isolation;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The rules of guards, at every isolation level, with whatever can come between. */
@Tag("nightly")
class GuardIsolationTest {
  private static final int TRIES = 6;

  static Stream<Arguments> everyIsolation() {
    return Arrays.stream(Server.values())
        .flatMap(server ->
            Arrays.stream(Isolation.values()).map(isolation -> Arguments.of(server, isolation)));
  }

  @Execution(ExecutionMode.CONCURRENT)
  @ParameterizedTest
  @MethodSource("everyIsolation")
  void aHolderCommitsThoughAnotherWaits(Server server, Isolation isolation) throws Exception {
    ExecutorService executor = Executors.newSingleThreadExecutor();
    try (GuardFixture fixture = new GuardFixture(server, isolation)) {
      String name = GuardFixture.freshName();
      Lease lease = fixture.locks.get(name).lock();
      Future<Long> waiting = executor.submit(() -> fixture.others.get(name).call(Lease::token));
      JdbcGuard.inTransaction(lease, fixture.pool, TRIES, transaction -> {
        fixture.read(transaction);
        Await.pause(Duration.ofMillis(300));
        fixture.add(transaction);
      });
      assertThat(fixture.count()).isEqualTo(1);
      assertThat(waiting).isNotDone();
      lease.close();
      assertThat(waiting.get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS))
          .isGreaterThan(lease.token());
    } finally {
      executor.shutdown();
    }
  }

  @Execution(ExecutionMode.CONCURRENT)
  @ParameterizedTest
  @MethodSource("everyIsolation")
  void aHolderCommitsThoughItsLeaseIsRenewedMeanwhile(Server server, Isolation isolation)
      throws Exception {
    try (GuardFixture fixture = new GuardFixture(server, isolation);
        Lease lease = fixture
            .locks
            .get(GuardFixture.freshName(), LockOptions.renewed(Duration.ofSeconds(15)))
            .lock()) {
      AtomicInteger runs = new AtomicInteger();
      JdbcGuard.inTransaction(lease, fixture.pool, TRIES, transaction -> {
        fixture.read(transaction);
        if (runs.incrementAndGet() == 1) {
          AtomicReference<Duration> last = new AtomicReference<>(lease.remaining());
          Await.until("it is renewed", () -> {
            Duration now = lease.remaining();
            return now.compareTo(last.getAndSet(now)) > 0;
          });
        }
        fixture.add(transaction);
      });
      assertThat(fixture.count()).isEqualTo(1);
      assertStands(lease);
    }
  }

  @Execution(ExecutionMode.CONCURRENT)
  @ParameterizedTest
  @MethodSource("everyIsolation")
  void guardedTransactionsOfOneLeaseThatOverlapAllCommit(Server server, Isolation isolation)
      throws Exception {
    int threads = 3;
    int each = 3;
    ExecutorService executor = Executors.newFixedThreadPool(threads);
    try (GuardFixture fixture = new GuardFixture(server, isolation);
        Lease lease = fixture.locks.get(GuardFixture.freshName()).lock()) {
      Callable<Boolean> work = () -> {
        for (int i = 0; i < each; i++) {
          JdbcGuard.inTransaction(lease, fixture.pool, 30, transaction -> {
            fixture.read(transaction);
            Await.pause(Duration.ofMillis(10));
            fixture.add(transaction);
          });
        }
        return true;
      };
      for (Future<Boolean> done : executor.invokeAll(Collections.nCopies(threads, work))) {
        assertThat(done.get()).isTrue();
      }
      assertThat(fixture.count()).isEqualTo(threads * each);
      assertStands(lease);
    } finally {
      executor.shutdown();
    }
  }

  /** Somebody without any lock changes what the work has read and changes itself. */
  @Execution(ExecutionMode.CONCURRENT)
  @ParameterizedTest
  @MethodSource("everyIsolation")
  void aConflictInTheCallersOwnTablesCostsATryAndNotTheLease(Server server, Isolation isolation)
      throws Exception {
    ExecutorService executor = Executors.newSingleThreadExecutor();
    try (GuardFixture fixture = new GuardFixture(server, isolation);
        Lease lease = fixture.locks.get(GuardFixture.freshName()).lock()) {
      try (Connection connection = server.connect()) {
        fixture.add(connection);
      }
      AtomicInteger runs = new AtomicInteger();
      AtomicInteger others = new AtomicInteger();
      JdbcGuard.inTransaction(lease, fixture.pool, TRIES, transaction -> {
        fixture.read(transaction);
        if (runs.incrementAndGet() == 1) {
          settle(executor.submit(() -> {
            try (Connection connection = server.connect()) {
              fixture.change(connection);
              others.incrementAndGet();
            }
            return true;
          }));
        }
        fixture.change(transaction);
      });
      executor.shutdown();
      assertThat(executor.awaitTermination(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS))
          .isTrue();
      // The row was made with 1; the work's change applied once, however often it ran.
      assertThat(fixture.sum()).isEqualTo(1 + 1 + others.get());
      assertStands(lease);
    } finally {
      executor.shutdown();
    }
  }

  /** Some isolation levels let the other through only when this transaction is over. */
  private static void settle(Future<Boolean> other) throws SQLException {
    try {
      other.get(300, TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      // It waits for what this transaction has read.
    } catch (Exception e) {
      throw new SQLException("The other's change", e);
    }
  }

  @Execution(ExecutionMode.CONCURRENT)
  @ParameterizedTest
  @MethodSource("everyIsolation")
  void aStaleHolderIsRefusedAndTheNextOneCommitsMeanwhile(Server server, Isolation isolation)
      throws Exception {
    try (GuardFixture fixture = new GuardFixture(server, isolation)) {
      String name = GuardFixture.freshName();
      Lease stale = fixture.locks.get(name).lock();
      try (JdbcGuard guard = JdbcGuard.of(stale);
          Connection transaction = fixture.pool.getConnection()) {
        transaction.setAutoCommit(false);
        fixture.readElsewhere(transaction);
        try (Lease next = fixture.steal(name, stale)) {
          JdbcGuard.inTransaction(next, fixture.pool, TRIES, fixture::add);
          assertThatThrownBy(() -> guard.verify(transaction)).isInstanceOf(LockLostException.class);
          // Before the stale one has rolled back.
          JdbcGuard.inTransaction(next, fixture.pool, TRIES, fixture::add);
          assertStands(next);
        }
        transaction.rollback();
      }
      assertThatThrownBy(() -> JdbcGuard.inTransaction(stale, fixture.pool, TRIES, fixture::add))
          .isInstanceOf(LockLostException.class);
      assertThat(fixture.count()).isEqualTo(2);
      assertThatThrownBy(stale::close).isInstanceOf(LockLostException.class);
    }
  }

  /** The row says that its time is over, so that nothing but the guard keeps others out. */
  @Execution(ExecutionMode.CONCURRENT)
  @ParameterizedTest
  @MethodSource("everyIsolation")
  void nobodyTakesTheLockBetweenVerifyAndCommit(Server server, Isolation isolation)
      throws Exception {
    try (GuardFixture fixture = new GuardFixture(server, isolation)) {
      String name = GuardFixture.freshName();
      Lease lease = fixture.locks.get(name).lock();
      Stores.update(
          server, Claims.key(name), "UPDATE holdfast_lock SET expires_at = 1 WHERE name = ?");
      int committed;
      try (JdbcGuard guard = JdbcGuard.of(lease);
          Connection transaction = fixture.pool.getConnection()) {
        transaction.setAutoCommit(false);
        fixture.add(transaction);
        guard.verify(transaction);
        assertThatThrownBy(() -> fixture.others.get(name).tryLock())
            .isInstanceOf(LockStoreException.class);
        committed = commit(transaction);
        try (Lease next = fixture.others.get(name).lockWithin(Await.PATIENCE)) {
          assertThat(next.token()).isGreaterThan(lease.token());
        }
      }
      assertThat(fixture.count()).isEqualTo(committed);
      if (isolation != Isolation.SERIALIZABLE) {
        assertThat(committed).isEqualTo(1);
      }
      assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
    }
  }

  /** Returns 0 if the database takes the other's try for a conflict, as PostgreSQL may. */
  private static int commit(Connection transaction) throws SQLException {
    try {
      transaction.commit();
      return 1;
    } catch (SQLException e) {
      assertThat(e.getSQLState()).isEqualTo("40001");
      transaction.rollback();
      return 0;
    }
  }

  private static void assertStands(Lease lease) {
    assertThat(lease.state()).isEqualTo(LeaseState.HELD);
    lease.verify();
  }
}
