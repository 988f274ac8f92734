package io.holdfast.lock.jdbc;

import static io.holdfast.lock.testsupport.Claims.claim;
import static io.holdfast.lock.testsupport.Claims.freshKey;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.testsupport.Await;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;

/** Waiting for a lock: how it passes on, to whom, and with which connections. */
class WaitingTest {

  @EachServer
  void aLockPassesFromClientToClientWithoutWaitingOutAnyInterval(Server server) throws Exception {
    int rounds = 20;
    try (HikariDataSource pool = server.pool(12);
        LockClient first = client(pool);
        LockClient second = client(pool)) {
      String name = freshKey().name();
      long[] handOffNanos = new long[rounds];
      ExecutorService executor = Executors.newSingleThreadExecutor();
      for (int round = 0; round < rounds; round++) {
        CountDownLatch begun = new CountDownLatch(1);
        Future<Long> takenAt;
        long releasedAt;
        try (Lease lease = first.get(name).lock()) {
          takenAt = executor.submit(() -> {
            begun.countDown();
            return second.get(name).call(won -> System.nanoTime());
          });
          assertThat(begun.await(20, TimeUnit.SECONDS)).isTrue();
          Await.pause(Duration.ofMillis(20));
          releasedAt = System.nanoTime();
          assertThat(lease.isHeld()).isTrue();
        }
        handOffNanos[round] = takenAt.get(20, TimeUnit.SECONDS) - releasedAt;
      }
      executor.shutdown();
      Arrays.sort(handOffNanos);
      // Far below the look that every waiter takes in the end, whatever else the machine does.
      assertThat(Duration.ofNanos(handOffNanos[rounds / 2])).isLessThan(Duration.ofMillis(250));
    }
  }

  @EachServer
  void everyClientGetsItsShareAndTokensRise(Server server) throws Exception {
    int clients = 3;
    int threadsEach = 2;
    Duration run = Duration.ofSeconds(4);
    try (HikariDataSource pool = server.pool(24)) {
      String name = freshKey().name();
      AtomicInteger inside = new AtomicInteger();
      AtomicLong lastToken = new AtomicLong();
      // How much a client does in its turn depends on the machine; how many turns it gets does not.
      AtomicReference<LockClient> lastClient = new AtomicReference<>();
      List<LockClient> all = new ArrayList<>();
      List<Future<Integer>> turns = new ArrayList<>();
      ExecutorService executor = Executors.newCachedThreadPool();
      for (int i = 0; i < clients; i++) {
        all.add(client(pool));
      }
      long end = System.nanoTime() + run.toNanos();
      for (LockClient client : all) {
        for (int thread = 0; thread < threadsEach; thread++) {
          turns.add(executor.submit(() -> {
            AtomicInteger begun = new AtomicInteger();
            while (System.nanoTime() - end < 0) {
              client.get(name).run(lease -> {
                assertThat(inside.incrementAndGet()).isEqualTo(1);
                assertThat(lease.token()).isGreaterThan(lastToken.getAndSet(lease.token()));
                if (lastClient.getAndSet(client) != client) {
                  begun.incrementAndGet();
                }
                assertThat(inside.decrementAndGet()).isZero();
              });
            }
            return begun.get();
          }));
        }
      }
      int[] perClient = new int[clients];
      for (int i = 0; i < turns.size(); i++) {
        perClient[i / threadsEach] += turns.get(i).get(30, TimeUnit.SECONDS);
      }
      executor.shutdown();
      all.forEach(LockClient::close);
      int sum = Arrays.stream(perClient).sum();
      assertThat(Arrays.stream(perClient).min().orElseThrow())
          .as("of %d: %s", sum, Arrays.toString(perClient))
          .isGreaterThanOrEqualTo(sum / clients / 2);
    }
  }

  @EachServer
  void nobodyHoldsAConnectionWhileWaiting(Server server) throws Exception {
    try (HikariDataSource pool = server.pool(12);
        JdbcStore store = Stores.open(pool);
        JdbcStore other = Stores.open(pool)) {
      List<Ticket> tickets = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        LockKey key = freshKey();
        assertThat(store.tryAcquire(claim(key))).isPresent();
        tickets.add(queue(other, claim(key), () -> {}));
      }
      // Each client's own, and on PostgreSQL the one that listens.
      int kept = server == Server.POSTGRES ? 3 : 2;
      Await.until(
          "few connections are in use",
          () -> pool.getHikariPoolMXBean().getActiveConnections() <= kept);
      for (Ticket ticket : tickets) {
        ticket.close();
      }
    }
  }

  @Test
  void withoutPostgresDriversOwnConnectionsWaitingPolls() throws Exception {
    try (HikariDataSource pool = Server.POSTGRES.pool(12)) {
      DataSource opaque = new Wrapper(pool) {
        @Override
        public Connection getConnection() throws SQLException {
          return Opaque.around(wrapped.getConnection());
        }
      };
      try (JdbcStore store = Stores.open(opaque)) {
        LockKey key = freshKey();
        Grant grant = store.tryAcquire(claim(key)).orElseThrow();
        CountDownLatch woken = new CountDownLatch(1);
        Ticket ticket = queue(store, claim(key), woken::countDown);
        Await.pause(Duration.ofMillis(300));
        try (JdbcStore other = Stores.open(pool)) {
          assertThat(other.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
        }
        assertThat(woken.await(20, TimeUnit.SECONDS)).isTrue();
        assertThat(ticket.poll()).isInstanceOf(Ticket.Granted.class);
      }
    }
  }

  @Test
  void aConnectionThatListenedIsGivenBackWithoutItsChannels() throws Exception {
    try (HikariDataSource pool = Server.POSTGRES.pool(3)) {
      JdbcStore store = Stores.open(pool);
      LockKey key = freshKey();
      assertThat(store.tryAcquire(claim(key))).isPresent();
      Ticket ticket = queue(store, claim(key), () -> {});
      Await.until("it listens", () -> pool.getHikariPoolMXBean().getActiveConnections() == 2);
      Await.pause(Duration.ofMillis(300));
      ticket.close();
      store.close();
      try (Connection first = pool.getConnection();
          Connection second = pool.getConnection();
          Connection third = pool.getConnection()) {
        for (Connection connection : List.of(first, second, third)) {
          try (Statement statement = connection.createStatement();
              ResultSet result =
                  statement.executeQuery("SELECT COUNT(*) FROM pg_listening_channels()")) {
            result.next();
            assertThat(result.getInt(1)).isZero();
          }
        }
      }
    }
  }

  private static LockClient client(HikariDataSource pool) {
    return JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build();
  }

  private static Ticket queue(JdbcStore store, Claim claim, Runnable wakeUp) throws Exception {
    Acquisition acquisition = store.acquireOrQueue(claim, wakeUp);
    assertThat(acquisition).isInstanceOf(Acquisition.Queued.class);
    return ((Acquisition.Queued) acquisition).ticket();
  }
}
