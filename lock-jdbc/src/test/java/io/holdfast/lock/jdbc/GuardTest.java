package io.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.lock.InMemoryLocks;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.testsupport.Await;
import java.io.IOException;
import java.sql.Connection;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** A stale holder can't commit, and a guarded one can't be overtaken before it has. */
class GuardTest {
  @EachServer
  @Execution(ExecutionMode.CONCURRENT)
  void aHolderCommits(Server server) throws Exception {
    try (GuardFixture fixture = new GuardFixture(server)) {
      for (int isolation : GuardFixture.ISOLATIONS) {
        String name = GuardFixture.freshName();
        try (Lease lease = fixture.locks.get(name).lock();
            JdbcGuard guard = JdbcGuard.of(lease);
            Connection transaction = fixture.begin(isolation)) {
          fixture.add(transaction);
          guard.verify(transaction);
          transaction.commit();
        }
        assertThat(fixture.locks.get(name).inspect()).isEmpty();
      }
      assertThat(fixture.count()).isEqualTo(GuardFixture.ISOLATIONS.size());
    }
  }

  @EachServer
  @Execution(ExecutionMode.CONCURRENT)
  void aHolderThatWasOvertakenCannotCommit(Server server) throws Exception {
    try (GuardFixture fixture = new GuardFixture(server)) {
      for (int isolation : GuardFixture.ISOLATIONS) {
        String name = GuardFixture.freshName();
        Lease stale = fixture.locks.get(name).lock();
        try (JdbcGuard guard = JdbcGuard.of(stale);
            Connection transaction = fixture.begin(isolation)) {
          // The transaction sees the database as of before the theft.
          fixture.add(transaction);
          fixture.read(transaction);
          try (Lease thief = fixture.steal(name, stale)) {
            assertThat(thief.token()).isGreaterThan(stale.token());
            assertThatThrownBy(() -> guard.verify(transaction))
                .isInstanceOf(LockLostException.class);
            transaction.rollback();
            assertThat(stale.state()).isEqualTo(LeaseState.LOST);
            thief.verify();
          }
        }
        assertThatThrownBy(stale::close).isInstanceOf(LockLostException.class);
      }
      assertThat(fixture.count()).isZero();
    }
  }

  @EachServer
  @Execution(ExecutionMode.CONCURRENT)
  void aLockThatNobodyTookSinceItWasForcedFreeIsLostAllTheSame(Server server) throws Exception {
    try (GuardFixture fixture = new GuardFixture(server)) {
      String name = GuardFixture.freshName();
      Lease lease = fixture.locks.get(name).lock();
      assertThat(fixture.others.get(name).forceRelease(lease.token())).isTrue();
      assertThatThrownBy(() -> JdbcGuard.inTransaction(lease, fixture.pool, fixture::add))
          .isInstanceOf(LockLostException.class);
      assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
      assertThat(fixture.count()).isZero();
    }
  }

  @EachServer
  @Execution(ExecutionMode.CONCURRENT)
  void nobodyOvertakesAVerifiedTransactionEvenAfterTheLeaseRanOut(Server server) throws Exception {
    try (GuardFixture fixture = new GuardFixture(server)) {
      String name = GuardFixture.freshName();
      Connection transaction = fixture.begin(Connection.TRANSACTION_READ_COMMITTED);
      fixture.add(transaction);
      Lease lease =
          fixture.locks.get(name, LockOptions.fixed(Duration.ofSeconds(6))).lock();
      try (transaction;
          JdbcGuard guard = JdbcGuard.of(lease)) {
        guard.verify(transaction);
        Await.until("the lease has run out", () -> !lease.isHeld());
        Await.until(
            "at the store, too", () -> fixture.others.get(name).inspect().isEmpty());

        // The lock is free, so "busy" would be wrong, and a lease would be one too many.
        assertThatThrownBy(() -> fixture.others.get(name).tryLock())
            .isInstanceOf(LockStoreException.class)
            .hasMessageContaining("row locked");

        CompletableFuture<Long> waiting = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
          try {
            fixture.others.get(name).run(won -> waiting.complete(won.token()));
          } catch (InterruptedException | RuntimeException e) {
            waiting.completeExceptionally(e);
          }
        });
        thread.start();
        Await.pause(Duration.ofMillis(300));
        assertThat(waiting).isNotDone();
        transaction.commit();
        assertThat(waiting.get(20, TimeUnit.SECONDS)).isGreaterThan(lease.token());
      }
      assertThat(fixture.count()).isEqualTo(1);
      assertThatThrownBy(lease::close).isInstanceOf(LockLostException.class);
    }
  }

  @EachServer
  @Execution(ExecutionMode.CONCURRENT)
  void renewalGoesOnAroundAnOpenTransactionAndNobodyIsHeldUp(Server server) throws Exception {
    try (GuardFixture fixture = new GuardFixture(server)) {
      LockOptions brief = LockOptions.renewed(Duration.ofSeconds(15));
      try (Lease guarded = fixture.locks.get(GuardFixture.freshName(), brief).lock();
          Lease other = fixture.locks.get(GuardFixture.freshName(), brief).lock()) {
        Duration left;
        try (JdbcGuard guard = JdbcGuard.of(guarded);
            Connection transaction = fixture.begin(Connection.TRANSACTION_READ_COMMITTED)) {
          guard.verify(transaction);
          AtomicReference<Duration> last = new AtomicReference<>(other.remaining());
          Await.until("the other is renewed", () -> {
            Duration now = other.remaining();
            return now.compareTo(last.getAndSet(now)) > 0;
          });
          assertThat(other.state()).isEqualTo(LeaseState.HELD);
          left = guarded.remaining();
          transaction.commit();
        }
        Await.until("it is renewed, too", () -> guarded.remaining().compareTo(left) > 0);
        guarded.verify();
        other.verify();
      }
    }
  }

  @EachServer
  @Execution(ExecutionMode.CONCURRENT)
  void aTransactionThatFailsIsRolledBackAndItsConnectionGivenBackAsItWas(Server server)
      throws Exception {
    try (GuardFixture fixture = new GuardFixture(server);
        Lease lease = fixture.locks.get(GuardFixture.freshName()).lock()) {
      assertThatThrownBy(() -> JdbcGuard.inTransaction(lease, fixture.pool, transaction -> {
            fixture.add(transaction);
            throw new IOException("made up");
          }))
          .isInstanceOf(IOException.class);
      assertThat(fixture.count()).isZero();
      JdbcGuard.inTransaction(lease, fixture.pool, fixture::add);
      assertThat(fixture.count()).isEqualTo(1);
      lease.verify();
    }
  }

  @Test
  void misuseIsToldAtOnce() throws Exception {
    try (GuardFixture fixture = new GuardFixture(Server.H2);
        LockClient memory = InMemoryLocks.builder().build();
        Lease lease = fixture.locks.get(GuardFixture.freshName()).lock();
        Lease foreign = memory.get("a").lock();
        JdbcGuard guard = JdbcGuard.of(lease);
        Connection autoCommit = fixture.pool.getConnection()) {
      assertThatThrownBy(() -> JdbcGuard.of(foreign)).isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> guard.verify(autoCommit))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("setAutoCommit(false)");
    }
  }
}
