package io.holdfast.lock.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;

/** Connections that die while nobody uses them, with a sign or without one. */
class IdleConnectionsTest {
  private static final Duration REST = Duration.ofMillis(1_500);

  @Test
  void connectionsThatDieAgainAndAgainCostNothing() throws Exception {
    connectionsDie(3);
  }

  @Test
  @Tag("soak")
  @Timeout(180)
  void connectionsThatDieForAMinuteCostNothing() throws Exception {
    connectionsDie(20);
  }

  private static void connectionsDie(int times) throws Exception {
    String name = Claims.freshKey().name();
    List<LeaseLoss> losses = new CopyOnWriteArrayList<>();
    ExecutorService thread = Executors.newSingleThreadExecutor();
    HostAndPort server = Stores.sharedServer();
    try (FaultProxy way = FaultProxy.open(server.getHost(), server.getPort());
        RedisClient one = RedisAccess.kitClient(new HostAndPort(way.host(), way.port()), 8);
        RedisClient other = RedisAccess.kitClient(new HostAndPort(way.host(), way.port()), 8);
        LockClient holder = client(one);
        LockClient waiter = client(other)) {
      Lease lease = holder.get(name).lock();
      lease.onLost(losses::add);
      Future<Long> next = thread.submit(() -> waiter.get(name).call(Lease::token));
      Await.until("somebody waits", () -> holder.list(name, 1).get(0).waiting().orElse(0) == 1);
      for (int i = 0; i < times; i++) {
        end(way, i);
        Await.pause(REST);
        end(way, i / 2);
        holder.get("other-" + name).tryLock().orElseThrow().close();
        lease.verify();
        assertThat(lease.isHeld()).isTrue();
        Await.pause(REST);
      }
      assertThat(next).isNotDone();
      lease.close();
      assertThat(next.get(30, TimeUnit.SECONDS)).isGreaterThan(lease.token());
      assertThat(losses).isEmpty();
    } finally {
      thread.shutdownNow();
    }
  }

  /** Ends all that are open, in turn so that nobody is told, and so that everybody is. */
  private static void end(FaultProxy way, int turn) {
    if (turn % 2 == 0) {
      way.silence();
    } else {
      way.cut();
    }
  }

  private static LockClient client(RedisClient redis) {
    return RedisLocks.builder(redis)
        .storeTimeout(Duration.ofSeconds(3))
        .defaultOptions(LockOptions.renewed(Duration.ofSeconds(9)))
        .build();
  }
}
