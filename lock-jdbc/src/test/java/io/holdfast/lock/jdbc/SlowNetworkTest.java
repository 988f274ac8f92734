package io.holdfast.lock.jdbc;

import static io.holdfast.lock.testsupport.Claims.claim;
import static io.holdfast.lock.testsupport.Claims.freshKey;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.tck.fault.Link.Direction;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.sql.Connection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;

/** A slow network: each request costs a round trip, so there are few, and none is given up. */
class SlowNetworkTest {
  private static final Duration HALF_A_ROUND_TRIP = Duration.ofMillis(625);
  private static final Duration STORE_TIMEOUT = Duration.ofSeconds(5);
  private static final Duration TTL = STORE_TIMEOUT.multipliedBy(3);

  @EachRealServer
  void aNewNameTakesTwoRequestsAndATakenOneOne(Server server) throws Exception {
    try (FaultProxy proxy = server.openProxy();
        HikariDataSource pool = pool(server, proxy);
        JdbcStore store = Stores.open(pool)) {
      LockKey key = freshKey();
      assertThat(store.tryAcquire(claim(freshKey()))).isPresent();

      long before = proxy.requests();
      assertThat(store.tryAcquire(claim(key))).isPresent();
      assertThat(proxy.requests() - before).isEqualTo(2);

      before = proxy.requests();
      assertThat(store.tryAcquire(claim(key))).isEmpty();
      assertThat(proxy.requests() - before).isEqualTo(1);
    }
  }

  /** With the settings of docs/backends/jdbc.md: a text that is too long is prepared each time. */
  @EachRealServer
  void aFreeLockTakesTwoRequestsAlsoIfTheServerPreparesStatements(Server server) throws Exception {
    try (FaultProxy proxy = server.openProxy();
        HikariDataSource pool = server.pool(2, config -> {
          config.setJdbcUrl(server.url(proxy));
          config.setMaxLifetime(0);
          config.addDataSourceProperty("useServerPrepStmts", "true");
          config.addDataSourceProperty("cachePrepStmts", "true");
          config.addDataSourceProperty("prepStmtCacheSqlLimit", "2048");
        });
        LockClient locks = client(pool)) {
      DistributedLock lock = locks.get(freshKey().name());
      for (int i = 0; i < 10; i++) {
        lock.lock().close(); // On both connections.
      }

      long before = proxy.requests();
      for (int i = 0; i < 20; i++) {
        lock.lock().close();
      }
      assertThat(proxy.requests() - before).isLessThanOrEqualTo(2 * 20 + 5);
    }
  }

  @EachRealServer
  void aRenewalTakesOneRequest(Server server) throws Exception {
    try (FaultProxy proxy = server.openProxy();
        HikariDataSource pool = pool(server, proxy);
        JdbcStore store = Stores.open(pool)) {
      List<Grant> grants = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        grants.add(store.tryAcquire(claim(freshKey())).orElseThrow());
      }

      // The fewest of some, since the pool sends requests of its own now and then.
      long fewest = Long.MAX_VALUE;
      for (int i = 0; i < 3; i++) {
        long before = proxy.requests();
        assertThat(store.renew(grants)).containsOnly(new Renewal.Renewed(Claims.TTL));
        fewest = Math.min(fewest, proxy.requests() - before);
      }
      assertThat(fewest).isEqualTo(1);
    }
  }

  @EachRealServer
  void aBuildTakesFiveRequestsAtMost(Server server) throws Exception {
    try (FaultProxy proxy = server.openProxy();
        HikariDataSource direct = server.pool(4)) {
      Stores.open(direct).close();

      // On new connections, since drivers remember. The fewest of some, since the pool checks
      // connections that were idle for half a second.
      long fewest = Long.MAX_VALUE;
      for (int i = 0; i < 3; i++) {
        try (HikariDataSource pool = pool(server, proxy, 2)) {
          long before = proxy.requests();
          JdbcStore store = Stores.open(pool);
          fewest = Math.min(fewest, proxy.requests() - before);
          store.close();
        }
      }
      assertThat(fewest).isEqualTo(server == Server.POSTGRES ? 4 : 5);
    }
  }

  /** A quarter of the store timeout for each answer. */
  @EachRealServer
  @Tag("nightly")
  @Timeout(180)
  void nothingFailsAndNoLeaseIsLostAndNoConnectionIsOpened(Server server) throws Exception {
    try (FaultProxy proxy = server.openProxy();
        HikariDataSource pool = pool(server, proxy)) {
      int connections = proxy.connections();
      proxy.delay(Direction.REQUESTS, HALF_A_ROUND_TRIP);
      proxy.delay(Direction.REPLIES, HALF_A_ROUND_TRIP);
      ExecutorService executor = Executors.newCachedThreadPool();
      try (LockClient locks = client(pool);
          LockClient other = client(pool)) {
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
          leases.add(locks.get(freshKey().name()).lock().detach());
        }
        String name = freshKey().name();
        Lease last = other.get(name).lock().detach();
        Future<Boolean> waiting =
            executor.submit(() -> locks.get(name).call(lease -> lease.isHeld()));
        long end = System.nanoTime() + TTL.plusSeconds(5).toNanos();
        while (System.nanoTime() - end < 0) {
          assertThat(leases).allMatch(lease -> lease.state() == LeaseState.HELD);
          locks.get(freshKey().name()).tryLock().orElseThrow().close();
        }
        assertThat(last.state()).isEqualTo(LeaseState.HELD);
        last.close();
        assertThat(waiting.get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        leases.forEach(Lease::close);
        assertThat(proxy.connections()).isEqualTo(connections);
      } finally {
        executor.shutdown();
      }
    }
  }

  @EachRealServer
  void theClientsOwnConnectionIsNotTakenForBrokenWhileThePoolHasNoOther(Server server)
      throws Exception {
    try (FaultProxy proxy = server.openProxy();
        HikariDataSource pool = pool(server, proxy);
        JdbcStore store = Stores.open(pool)) {
      JdbcGrant grant = (JdbcGrant) store.tryAcquire(claim(freshKey())).orElseThrow();
      List<Connection> others = new ArrayList<>();
      while (others.size() < pool.getMaximumPoolSize() - 1) {
        others.add(pool.getConnection());
      }
      Await.pause(Duration.ofMillis(600)); // Then it is checked before it is used.
      // A round trip takes more than a quarter of the store timeout, and less than a third.
      proxy.delay(Direction.REQUESTS, Duration.ofMillis(750));
      proxy.delay(Direction.REPLIES, Duration.ofMillis(750));
      grant.database().expireOwnConnection();

      assertThat(grant.isShown()).isTrue();

      proxy.delay(Direction.REQUESTS, Duration.ZERO);
      proxy.delay(Direction.REPLIES, Duration.ZERO);
      for (Connection other : others) {
        other.close();
      }
    }
  }

  @EachRealServer
  void toWaitTakesTwoRequests(Server server) throws Exception {
    try (FaultProxy proxy = server.openProxy();
        HikariDataSource direct = server.pool(4);
        HikariDataSource pool = pool(server, proxy);
        JdbcStore holder = Stores.open(direct);
        JdbcStore store = Stores.open(withoutNotifications(pool), STORE_TIMEOUT)) {
      LockKey key = freshKey();
      assertThat(holder.tryAcquire(claim(key))).isPresent();
      assertThat(store.tryAcquire(claim(freshKey()))).isPresent();

      synchronized (store.poller) { // Its own requests are not counted.
        long before = proxy.requests();
        Acquisition queued = store.acquireOrQueue(claim(key), () -> {});
        assertThat(proxy.requests() - before).isEqualTo(2);
        assertThat(queued).isInstanceOf(Acquisition.Queued.class);
      }
    }
  }

  @EachRealServer
  void aHandOverTakesOneRequestIfTheLockWasHeldForAWhile(Server server) throws Exception {
    try (FaultProxy proxy = server.openProxy();
        HikariDataSource direct = server.pool(4);
        HikariDataSource pool = pool(server, proxy);
        JdbcStore waiters = Stores.open(withoutNotifications(direct), STORE_TIMEOUT);
        JdbcStore store = Stores.open(withoutNotifications(pool), STORE_TIMEOUT)) {
      LockKey key = freshKey();
      Grant first = store.tryAcquire(claim(key)).orElseThrow();
      Ticket other = queue(waiters, key);
      Await.pause(Duration.ofMillis(20));

      assertThat(requests(proxy, () -> store.release(first, Duration.ZERO))).isEqualTo(1);
      assertThat(other.poll()).isInstanceOf(Ticket.Granted.class);
    }
  }

  private static Ticket queue(JdbcStore store, LockKey key) throws Exception {
    return ((Acquisition.Queued) store.acquireOrQueue(claim(key), () -> {})).ticket();
  }

  /** Something that sends requests. */
  private interface Asking {
    void run() throws Exception;
  }

  private static long requests(FaultProxy proxy, Asking asking) throws Exception {
    long before = proxy.requests();
    asking.run();
    return proxy.requests() - before;
  }

  private static JdbcStore.Settings withoutNotifications(HikariDataSource pool) {
    return new JdbcStore.Settings(
        pool, JdbcLocks.DEFAULT_TABLE, SchemaMode.CREATE, false, Boolean.FALSE);
  }

  private static LockClient client(HikariDataSource pool) {
    return JdbcLocks.builder(pool)
        .schema(SchemaMode.CREATE)
        .storeTimeout(STORE_TIMEOUT)
        .defaultOptions(LockOptions.renewed(TTL))
        .build();
  }

  private static HikariDataSource pool(Server server, FaultProxy proxy) {
    return pool(server, proxy, 8);
  }

  /** A pool whose connections are all open. */
  private static HikariDataSource pool(Server server, FaultProxy proxy, int size) {
    HikariDataSource pool = server.pool(size, config -> {
      config.setJdbcUrl(server.url(proxy));
      config.setMinimumIdle(size);
    });
    Await.until("the pool is full", () -> pool.getHikariPoolMXBean().getTotalConnections() == size);
    return pool;
  }
}
