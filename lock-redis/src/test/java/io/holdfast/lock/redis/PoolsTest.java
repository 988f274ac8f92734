package io.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.holdfast.lock.redis.store.RedisStore;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.Renewal;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;

/** Pools that are closed while they are used, as Jedis does when a server left or was demoted. */
class PoolsTest {
  private final HostAndPort server = Stores.sharedServer();
  private final List<FailingPool> pools = new ArrayList<>();

  @AfterEach
  void close() {
    pools.forEach(FailingPool::close);
  }

  private FailingPool pool() {
    FailingPool pool = new FailingPool(server);
    pools.add(pool);
    return pool;
  }

  /** Each time another pool, once the last one was closed. */
  private LockStore store() throws Exception {
    pool();
    return RedisStore.open(
        key -> pools.get(pools.size() - 1),
        RedisLocks.DEFAULT_PREFIX,
        RedisLocks.NUMBERS_KEPT,
        null,
        Stores.settings());
  }

  /** As late as possible: when it has been looked up already. */
  private void closeWhenUsed() {
    FailingPool last = pools.get(pools.size() - 1);
    last.beforeEach(() -> {
      if (!last.isClosed()) {
        pool();
        last.close();
      }
    });
  }

  @Test
  void aPoolThatWasClosedJustBeforeItIsUsedIsNoFailure() throws Exception {
    try (LockStore store = store()) {
      closeWhenUsed();
      Grant grant = store.tryAcquire(Claims.claim(Claims.freshKey())).orElseThrow();
      closeWhenUsed();
      assertThat(store.renew(List.of(grant))).containsExactly(new Renewal.Renewed(Claims.TTL));
      closeWhenUsed();
      assertThat(store.verify(grant)).isPresent();
      closeWhenUsed();
      assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
      assertThat(pools).hasSize(5);
    }
  }

  @Test
  void aPoolThatWasClosedForGoodIsAFailure() throws Exception {
    try (LockStore store = store()) {
      pools.get(0).close();
      assertThatExceptionOfType(StoreException.class)
          .isThrownBy(() -> store.tryAcquire(Claims.claim(Claims.freshKey())))
          .withMessageContaining("closed")
          .satisfies(e -> assertThat(e.mayHaveHappened()).isFalse());
    }
  }

  @Test
  void whoWaitsForAPoolThatIsClosedIsNeitherRefusedNorInterrupted() throws Exception {
    ExecutorService executor = Executors.newSingleThreadExecutor();
    try (LockStore store = store()) {
      FailingPool first = pools.get(0);
      first.setMaxTotal(1);
      Connection kept = first.getResource();
      Future<Boolean> acquired = executor.submit(() -> {
        Grant grant = store.tryAcquire(Claims.claim(Claims.freshKey())).orElseThrow();
        boolean wasInterrupted = Thread.interrupted();
        assertThat(store.release(grant, Duration.ZERO)).isEqualTo(ReleaseOutcome.RELEASED);
        return wasInterrupted;
      });
      Await.until("waits", () -> first.getNumWaiters() > 0);
      pool();
      first.close();
      assertThat(acquired.get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS))
          .as("was interrupted")
          .isFalse();
      kept.close();
    } finally {
      executor.shutdownNow();
    }
  }

  @Test
  void aConnectionOfOurOwnThatIsWantedAfterTheCloseIsNotOpened() throws Exception {
    try (FaultProxy way = FaultProxy.open(server.getHost(), server.getPort());
        RedisClient redis = RedisAccess.client(new HostAndPort(way.host(), way.port()), 1)) {
      LockStore store = Stores.open(redis);
      Grant grant = store.tryAcquire(Claims.claim(Claims.freshKey())).orElseThrow();
      Connection kept = redis.getPool().getResource();
      try {
        int before = way.connections();
        store.close();
        assertThatExceptionOfType(StoreException.class)
            .isThrownBy(() -> store.release(grant, Duration.ZERO))
            .withMessageContaining("closed");
        assertThat(way.connections()).isEqualTo(before);
      } finally {
        kept.close();
      }
    }
  }
}
