package io.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.ServerContainer;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import okhttp3.OkHttpClient;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Connections that die while nobody uses them, with or without a sign. */
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
    String name = "idle-" + UUID.randomUUID();
    List<LeaseLoss> losses = new CopyOnWriteArrayList<>();
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try (ServerContainer server = ConsulServer.start();
        FaultProxy way = FaultProxy.open(server.host(), server.port());
        LockClient holder = client(way);
        LockClient waiter = client(way)) {
      Lease lease = holder.get(name).lock();
      lease.onLost(losses::add);
      Future<Long> next = thread.submit(() -> waiter.get(name).call(Lease::token));
      Await.until("somebody waits", () -> holder.list(name, 1).get(0).waiting().orElse(0) == 1);
      for (int i = 0; i < times; i++) {
        end(way, i);
        Thread.sleep(REST.toMillis());
        end(way, i / 2);
        holder.get("other-" + name).tryLock().orElseThrow().close();
        lease.verify();
        assertThat(lease.isHeld()).isTrue();
        Thread.sleep(REST.toMillis());
      }
      assertThat(next).isNotDone();
      lease.close();
      assertThat(next.get(30, TimeUnit.SECONDS)).isGreaterThan(lease.token());
      assertThat(losses).isEmpty();
    } finally {
      thread.shutdownNow();
    }
  }

  /** Ends all open connections: in every other turn silently. */
  private static void end(FaultProxy way, int turn) {
    if (turn % 2 == 0) {
      way.silence();
    } else {
      way.cut();
    }
  }

  private static LockClient client(FaultProxy way) {
    return ConsulLocks.builder(new OkHttpClient(), ConsulFixture.addressOf(way))
        .storeTimeout(Duration.ofSeconds(3))
        .defaultOptions(LockOptions.renewed(Duration.ofSeconds(9)))
        .build();
  }
}
