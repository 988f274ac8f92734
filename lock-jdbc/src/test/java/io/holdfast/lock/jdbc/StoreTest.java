package io.holdfast.lock.jdbc;

import static io.holdfast.lock.testsupport.Claims.claim;
import static io.holdfast.lock.testsupport.Claims.freshKey;
import static io.holdfast.lock.testsupport.Claims.key;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.StoredHolder;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.sql.Connection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** The protocol, statement by statement, on each database and driver. */
class StoreTest {

  @EachServer
  void renewalExtendsWhatStandsAndRevivesNothing(Server server) throws Exception {
    try (HikariDataSource pool = server.pool(4);
        JdbcStore store = Stores.open(pool)) {
      Grant expiring = store.tryAcquire(claim(freshKey())).orElseThrow();
      Grant standing = store.tryAcquire(claim(freshKey())).orElseThrow();
      Grant released = store.tryAcquire(claim(freshKey())).orElseThrow();
      assertThat(store.release(released, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      long endBefore = Stores.endMicros(server, standing);
      assertThat(store.renew(List.of(expiring, standing, released)))
          .extracting(StoreTest::isRenewed)
          .containsExactly(true, true, false);
      assertThat(Stores.endMicros(server, standing)).isGreaterThan(endBefore);

      Stores.expire(server, expiring);
      assertThat(store.renew(List.of(expiring, standing)))
          .extracting(StoreTest::isRenewed)
          .containsExactly(false, true);
      assertThat(store.verify(expiring)).isEmpty();
    }
  }

  /**
   * Whether a grant was renewed for its TTL, less the time that a slow answer took; or was lost.
   */
  private static boolean isRenewed(Renewal renewal) {
    assertThat(renewal).isNotInstanceOf(Renewal.Unknown.class);
    return renewal instanceof Renewal.Renewed renewed
        && renewed.validFor().compareTo(Claims.TTL.dividedBy(2)) > 0;
  }

  @EachServer
  void aThousandGrantsAreRenewedTogether(Server server) throws Exception {
    try (HikariDataSource pool = server.pool(4);
        JdbcStore store = Stores.open(pool)) {
      List<Grant> grants = new ArrayList<>();
      for (int i = 0; i < 1_000; i++) {
        grants.add(store.tryAcquire(claim(freshKey(), Duration.ofMinutes(10))).orElseThrow());
      }
      try (Connection other = server.connect()) {
        // Somebody has the row of one of them locked: the others must not wait for that.
        other.setAutoCommit(false);
        lockRow(other, server, grants.get(700));
        List<Renewal> renewals = store.renew(grants);
        assertThat(renewals).hasSize(1_000);
        assertThat(renewals.get(700)).isInstanceOf(Renewal.Unknown.class);
        assertThat(renewals.stream().filter(Renewal.Renewed.class::isInstance)).hasSize(999);
        other.rollback();
      }
      assertThat(store.renew(grants).stream().filter(Renewal.Renewed.class::isInstance))
          .hasSize(1_000);
    }
  }

  @EachServer
  void aFreeLockWhoseRowStaysLockedIsNotBusy(Server server) throws Exception {
    try (HikariDataSource pool = server.pool(4);
        JdbcStore store = Stores.open(pool);
        Connection other = server.connect()) {
      Grant grant = store.tryAcquire(claim(freshKey())).orElseThrow();
      assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      other.setAutoCommit(false);
      lockRow(other, server, grant);

      StoreException refused = catchThrowableOfType(
          StoreException.class, () -> store.tryAcquire(claim(grant.claim().key())));
      assertThat(refused).hasMessage("Another transaction has the lock's row locked");
      assertThat(refused.mayHaveHappened()).isFalse();

      other.rollback();
      assertThat(store.tryAcquire(claim(grant.claim().key()))).isPresent();
    }
  }

  private static void lockRow(Connection transaction, Server server, Grant grant) throws Exception {
    try (var statement = Stores.prepare(
            transaction,
            server,
            grant.claim().key(),
            "SELECT number FROM holdfast_lock WHERE name = ? FOR UPDATE");
        var result = statement.executeQuery()) {
      assertThat(result.next()).isTrue();
    }
  }

  @EachServer
  @Execution(ExecutionMode.CONCURRENT)
  void aMinimumHoldKeepsTheNameTakenAfterTheRelease(Server server) throws Exception {
    try (HikariDataSource pool = server.pool(4);
        JdbcStore store = Stores.open(pool)) {
      LockKey key = freshKey();
      Grant grant = store.tryAcquire(claim(key)).orElseThrow();
      Duration hold = Duration.ofMinutes(1);
      assertThat(store.release(grant, hold)).isEqualTo(ReleaseOutcome.RELEASED);

      StoredHolder holder = store.inspect(key).orElseThrow();
      assertThat(holder.released()).isTrue();
      assertThat(holder.number()).isEqualTo(grant.number());
      assertThat(holder.remaining()).isLessThanOrEqualTo(hold);
      assertThat(store.verify(grant)).isEmpty();
      assertThat(store.renew(List.of(grant))).containsExactly(new Renewal.Lost());

      LockKey soonFree = freshKey();
      Grant brief = store.tryAcquire(claim(soonFree)).orElseThrow();
      Duration briefHold = Duration.ofSeconds(1);
      long begin = System.nanoTime();
      assertThat(store.release(brief, briefHold)).isEqualTo(ReleaseOutcome.RELEASED);
      while (store.tryAcquire(claim(soonFree)).isEmpty()) {
        Await.pause(Duration.ofMillis(5));
      }
      assertThat(System.nanoTime() - begin).isGreaterThanOrEqualTo(briefHold.toNanos() - 1_000_000);
    }
  }

  @EachServer
  void aWithdrawnAttemptLeavesNothingAndTouchesNobodyElse(Server server) throws Exception {
    try (HikariDataSource pool = server.pool(4);
        JdbcStore store = Stores.open(pool)) {
      LockKey key = freshKey();
      Claim unanswered = claim(key);
      Grant granted = store.tryAcquire(unanswered).orElseThrow();
      store.withdraw(unanswered);
      assertThat(store.verify(granted)).isEmpty();
      Grant next = store.tryAcquire(claim(key)).orElseThrow();
      store.withdraw(unanswered);
      assertThat(store.verify(next)).isPresent();
    }
  }

  @EachServer
  void aHolderThatNoDatabaseCanWriteIsMadeReadable(Server server) throws Exception {
    try (HikariDataSource pool = server.pool(4);
        JdbcStore store = Stores.open(pool)) {
      LockKey key = freshKey();
      Claim claim = claim(key);
      String odd = "host\u0000 pid\n thread \ud83d \ud83d\udd12";
      assertThat(store.tryAcquire(
              new Claim(key, claim.mode(), claim.ownerId(), claim.ttl(), claim.minHold(), odd)))
          .isPresent();
      assertThat(store.inspect(key).orElseThrow().description())
          .isEqualTo("host? pid? thread ? \ud83d\udd12");
    }
  }

  @EachServer
  void oneOfManyWhoTryAtOnceGetsALockAndNumbersRise(Server server) throws Exception {
    int threads = 8;
    try (HikariDataSource pool = server.pool(threads + 1);
        JdbcStore store = Stores.open(pool)) {
      LockKey key = freshKey();
      AtomicInteger holders = new AtomicInteger();
      AtomicLong last = new AtomicLong();
      AtomicInteger grants = new AtomicInteger();
      CountDownLatch start = new CountDownLatch(1);
      ExecutorService executor = Executors.newFixedThreadPool(threads);
      List<Future<?>> results = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        results.add(executor.submit(() -> {
          start.await();
          long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(2);
          while (System.nanoTime() - end < 0) {
            Optional<Grant> grant = store.tryAcquire(claim(key));
            if (grant.isPresent()) {
              assertThat(holders.incrementAndGet()).isEqualTo(1);
              assertThat(grant.get().number())
                  .isGreaterThan(last.getAndSet(grant.get().number()));
              grants.incrementAndGet();
              assertThat(holders.decrementAndGet()).isZero();
              assertThat(store.release(grant.get(), Duration.ZERO))
                  .isEqualTo(ReleaseOutcome.RELEASED);
            }
          }
          return null;
        }));
      }
      start.countDown();
      for (Future<?> result : results) {
        result.get(30, TimeUnit.SECONDS);
      }
      executor.shutdown();
      assertThat(grants).hasPositiveValue();
    }
  }

  @EachServer
  @Execution(ExecutionMode.CONCURRENT)
  void aTicketIsWokenByTheReleaseAndByTheExpiry(Server server) throws Exception {
    try (HikariDataSource pool = server.pool(8);
        HikariDataSource otherPool = server.pool(8);
        JdbcStore store = Stores.open(pool);
        JdbcStore other = Stores.open(otherPool)) {
      LockKey key = freshKey();
      Grant first = store.tryAcquire(claim(key)).orElseThrow();
      CountDownLatch woken = new CountDownLatch(1);
      Ticket ticket = queue(other, claim(key, Duration.ofSeconds(6)), woken::countDown);
      Await.until("a poll told the holder", () -> ticket.holder().isPresent());
      assertThat(ticket.holder()).contains("test of the store");
      assertThat(ticket.poll()).isInstanceOf(Ticket.Waiting.class);
      assertThat(store.release(first, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      assertThat(woken.await(20, TimeUnit.SECONDS)).isTrue();
      Ticket.Status status = ticket.poll();
      assertThat(status).isInstanceOf(Ticket.Granted.class);

      CountDownLatch expired = new CountDownLatch(1);
      Ticket next = queue(store, claim(key), expired::countDown);
      assertThat(expired.await(20, TimeUnit.SECONDS)).isTrue();
      assertThat(next.poll()).isInstanceOf(Ticket.Granted.class);
    }
  }

  private static Ticket queue(JdbcStore store, Claim claim, Runnable wakeUp) throws Exception {
    Acquisition acquisition = store.acquireOrQueue(claim, wakeUp);
    assertThat(acquisition).isInstanceOf(Acquisition.Queued.class);
    return ((Acquisition.Queued) acquisition).ticket();
  }
}
