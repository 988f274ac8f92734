package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.testsupport.Claims;
import io.holdfast.lock.testsupport.ServerContainer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Connections that end again and again: no lease and no request is lost. On one server. */
class EndedConnectionsTest {
  private static final Duration BETWEEN_ENDS = Duration.ofMillis(1500);

  @Test
  void theyCostNothing() throws Exception {
    endThemFor(Duration.ofSeconds(8));
  }

  @Test
  @Tag("soak")
  @Timeout(300)
  void forAMinuteTheyCostNothing() throws Exception {
    endThemFor(Duration.ofMinutes(1));
  }

  private static void endThemFor(Duration time) throws Exception {
    ServerContainer server = ZooKeeperServer.shared();
    String name = Claims.freshName();
    try (FaultProxy proxy = FaultProxy.open(server.host(), server.port());
        CuratorFramework framework = open(proxy);
        CuratorFramework waitersFramework = open(proxy);
        LockClient holder = ZooKeeperLocks.builder(framework).build();
        LockClient other = ZooKeeperLocks.builder(waitersFramework).build()) {
      Lease lease = holder.get(name).lock();
      CompletableFuture<Void> waiter = CompletableFuture.runAsync(() -> takeOnce(other, name));
      long end = System.nanoTime() + time.toNanos();
      while (System.nanoTime() - end < 0) {
        proxy.cut();
        holder.get(Claims.freshName()).tryLock().orElseThrow().close();
        lease.verify();
        TimeUnit.NANOSECONDS.sleep(BETWEEN_ENDS.toNanos());
      }
      assertThat(lease.state()).isEqualTo(LeaseState.HELD);
      assertThat(waiter).isNotDone();
      lease.close();
      waiter.get(1, TimeUnit.MINUTES);
    }
  }

  private static CuratorFramework open(FaultProxy proxy) {
    return Frameworks.open(ZooKeeperServer.address(proxy.host(), proxy.port()));
  }

  private static void takeOnce(LockClient client, String name) {
    try (Lease lease = client.get(name).lock()) {
      assertThat(lease.isHeld()).isTrue();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
