package io.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.lock.DistributedLock;
import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockKind;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;

/** The cost of locks in statements, counted by the server. */
@Isolated("the server counts all statements")
class StatementCountTest {

  @EachRealServer
  void oneStatementTakesOneFreesAndNoneReenters(Server server) throws Exception {
    try (StatementCounter counter = new StatementCounter(server);
        HikariDataSource pool = full(server.pool(4, config -> config.setMinimumIdle(4)));
        LockClient locks = client(pool)) {
      DistributedLock lock = locks.get(Claims.freshKey().name());
      lock.lock().close();

      long before = counter.count();
      for (int i = 0; i < 20; i++) {
        try (Lease outer = lock.lock();
            Lease inner = lock.lock()) {
          assertThat(inner.token()).isEqualTo(outer.token());
        }
      }
      assertThat(counter.count() - before).isEqualTo(40);

      before = counter.count();
      try (Lease lease = lock.tryLock().orElseThrow()) {
        assertThat(lease.isHeld()).isTrue();
      }
      assertThat(counter.count() - before).isEqualTo(2);
    }
  }

  @EachRealServer
  void oneStatementTakesALockToReadAndOneLeavesIt(Server server) throws Exception {
    try (StatementCounter counter = new StatementCounter(server);
        HikariDataSource pool = full(server.pool(4, config -> config.setMinimumIdle(4)));
        JdbcStore store = Stores.open(pool)) {
      LockKey key = Claims.freshKey();
      Claim first = Stores.readClaim(key);
      store.release(store.tryAcquire(first).orElseThrow(), Duration.ZERO);
      for (int besides = 0; besides < 3; besides++) {
        long before = counter.count();
        for (int i = 0; i < 20; i++) {
          Grant grant = store.tryAcquire(Stores.readClaim(key)).orElseThrow();
          assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
        }
        assertThat(counter.count() - before).isEqualTo(40);
        // With more time than the others, so that no leave has to lower the end of the lock.
        Grant unused =
            store.tryAcquire(Stores.readClaim(key, Duration.ofMinutes(10))).orElseThrow();
      }
    }
  }

  @EachRealServer
  void oneStatementTakesAPermitAndOneGivesItBack(Server server) throws Exception {
    try (StatementCounter counter = new StatementCounter(server);
        HikariDataSource pool = full(server.pool(4, config -> config.setMinimumIdle(4)));
        JdbcStore store = Stores.open(pool)) {
      LockKey key = new LockKey(LockKind.PERMIT, Claims.freshName());
      int permits = 10;
      for (int besides = 0; besides < 3; besides++) {
        // The first of a name makes its row; the next tries the permit that was given back.
        store.release(takePermit(store, key, permits), Duration.ZERO);
        long before = counter.count();
        for (int i = 0; i < 20; i++) {
          Grant grant = takePermit(store, key, permits);
          assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
        }
        assertThat(counter.count() - before).isEqualTo(40);
        Grant unused = takePermit(store, key, permits);
      }
    }
  }

  private static Grant takePermit(JdbcStore store, LockKey key, int permits) throws StoreException {
    return store.tryAcquire(Stores.permitClaim(key, permits, Claims.TTL)).orElseThrow();
  }

  @EachRealServer
  void aThousandLeasesAreRenewedWithAHandfulOfStatements(Server server) throws Exception {
    assertAThousandAreRenewed(server, ttl -> Claims.claim(Claims.freshKey(), ttl));
  }

  @EachRealServer
  void aThousandReadersAreRenewedWithAHandfulOfStatements(Server server) throws Exception {
    assertAThousandAreRenewed(server, ttl -> Stores.readClaim(Claims.freshKey(), ttl));
  }

  private static void assertAThousandAreRenewed(Server server, Function<Duration, Claim> claims)
      throws Exception {
    try (StatementCounter counter = new StatementCounter(server);
        HikariDataSource pool = full(server.pool(4, config -> config.setMinimumIdle(4)));
        JdbcStore store = Stores.open(pool)) {
      Duration ttl = Duration.ofMinutes(10);
      List<Grant> grants = new ArrayList<>();
      for (int i = 0; i < 1_000; i++) {
        grants.add(store.tryAcquire(claims.apply(ttl)).orElseThrow());
      }
      // The client's own connection was idle meanwhile, and on a slow machine for so long that it
      // is checked before it goes back to the pool.
      assertThat(store.renew(grants.subList(0, 1))).containsOnly(new Renewal.Renewed(ttl));
      Await.until("it is back", () -> pool.getHikariPoolMXBean().getActiveConnections() == 1);

      // The fewest of three counts: a connection that was idle for long is checked.
      long fewest = Long.MAX_VALUE;
      for (int count = 0; count < 3; count++) {
        long before = counter.count();
        assertThat(store.renew(grants)).containsOnly(new Renewal.Renewed(ttl));
        fewest = Math.min(fewest, counter.count() - before);
      }
      assertThat(fewest).isEqualTo(2);
    }
  }

  @EachRealServer
  void oneStatementExtendsALeaseAndTwoList(Server server) throws Exception {
    try (StatementCounter counter = new StatementCounter(server);
        HikariDataSource pool = full(server.pool(4, config -> config.setMinimumIdle(4)));
        JdbcStore store = Stores.open(pool)) {
      Grant grant = store.tryAcquire(Claims.claim(Claims.freshKey())).orElseThrow();

      long before = counter.count();
      assertThat(store.extend(grant, Duration.ofMinutes(10))).isPresent();
      assertThat(counter.count() - before).isEqualTo(1);

      before = counter.count();
      assertThat(store.list(LockKind.MUTEX, grant.claim().key().name(), 10)).hasSize(1);
      assertThat(counter.count() - before).isEqualTo(2);
    }
  }

  @EachRealServer
  @Timeout(120)
  void manyWhoWaitLongCostLittle(Server server) throws Exception {
    int clients = 10;
    int threadsEach = 5;
    try (StatementCounter counter = new StatementCounter(server);
        HikariDataSource pool = server.pool(3 * clients)) {
      String name = Claims.freshKey().name();
      List<LockClient> all = new ArrayList<>();
      ExecutorService executor = Executors.newCachedThreadPool();
      try (LockClient holder = client(pool);
          Lease lease =
              holder.get(name, LockOptions.fixed(Duration.ofMinutes(2))).lock()) {
        List<Future<Optional<Lease>>> waiting = new ArrayList<>();
        for (int i = 0; i < clients; i++) {
          LockClient client = client(pool);
          all.add(client);
          for (int thread = 0; thread < threadsEach; thread++) {
            waiting.add(executor.submit(() -> client.get(name).tryLock(Duration.ofSeconds(14))));
          }
        }
        // The fast phase: the first in line looks at a share of the time for which the lock has
        // been held.
        Await.pause(Duration.ofSeconds(6));
        long before = counter.count();
        long begin = System.nanoTime();
        Await.pause(Duration.ofSeconds(5));
        double seconds = (System.nanoTime() - begin) / 1e9;
        assertThat((counter.count() - before) / seconds).isLessThanOrEqualTo(10.0 * clients);
        assertThat(lease.isHeld()).isTrue();
        for (Future<Optional<Lease>> waiter : waiting) {
          assertThat(waiter.get(60, TimeUnit.SECONDS)).isEmpty();
        }
      } finally {
        all.forEach(LockClient::close);
        executor.shutdown();
      }
    }
  }

  @EachRealServer
  @Timeout(120)
  void manyNamesThatOneClientWaitsForCostLittleMoreThanOne(Server server) throws Exception {
    int names = 100;
    try (FaultProxy proxy = server.openProxy();
        HikariDataSource direct = server.pool(8);
        HikariDataSource pool = full(server.pool(8, config -> {
          config.setJdbcUrl(server.url(proxy));
          config.setMinimumIdle(8);
        }));
        LockClient holder = client(direct);
        LockClient waiter = client(pool)) {
      ExecutorService executor = Executors.newCachedThreadPool();
      List<Future<Optional<Lease>>> waiting = new ArrayList<>();
      LockOptions fixed = LockOptions.fixed(Duration.ofMinutes(5));
      String prefix = Claims.freshKey().name();
      for (int i = 0; i < names; i++) {
        String name = prefix + i;
        Lease unused = holder.get(name, fixed).lock().detach();
        waiting.add(executor.submit(() -> waiter.get(name).tryLock(Duration.ofSeconds(25))));
      }
      Await.pause(Duration.ofSeconds(2));

      long before = proxy.requests();
      long begin = System.nanoTime();
      Await.pause(Duration.ofSeconds(10)); // Each thread has looked by itself meanwhile.
      double seconds = (System.nanoTime() - begin) / 1e9;
      double perSecond = (proxy.requests() - before) / seconds;

      assertThat(perSecond).isLessThanOrEqualTo(20);
      for (Future<Optional<Lease>> waited : waiting) {
        assertThat(waited.get(60, TimeUnit.SECONDS)).isEmpty();
      }
      executor.shutdown();
    }
  }

  /** Waits until the pool opens no more connections, which costs statements of its own. */
  private static HikariDataSource full(HikariDataSource pool) {
    Await.until(
        "the pool is full",
        () -> pool.getHikariPoolMXBean().getIdleConnections() == pool.getMaximumPoolSize());
    return pool;
  }

  private static LockClient client(HikariDataSource pool) {
    return JdbcLocks.builder(pool).schema(SchemaMode.CREATE).build();
  }
}
