package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.tck.fault.FaultProxy;
import io.holdfast.lock.testsupport.Await;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A server that is started again with a lower limit of session timeouts. */
@Tag("nightly")
@Timeout(120)
class LimitsTest extends ServerTest {
  private static final Duration BEFORE = Duration.ofSeconds(60);

  /**
   * Less than half of it. Half of this outlasts a slow restart: from the moment on that it is
   * agreed on, it counts from the last confirmation, which was before the restart.
   */
  private static final Duration AFTER = Duration.ofSeconds(24);

  private FaultProxy proxy;
  private CuratorFramework framework;

  LimitsTest() {
    super(ZooKeeperServer.start());
  }

  @BeforeEach
  void open() {
    proxy = openProxy();
    framework =
        closeLater(Frameworks.open(ZooKeeperServer.address(proxy.host(), proxy.port()), BEFORE));
  }

  private void lowerTheLimit() throws Exception {
    ZooKeeper zk = Frameworks.handle(framework);
    assertThat(zk.getSessionTimeout()).isEqualTo((int) BEFORE.toMillis());
    ZooKeeperServer.restart(server, AFTER);
    Await.untilAnswered(
        "the lower limit is agreed on",
        () -> zk.getState().isConnected() && zk.getSessionTimeout() == AFTER.toMillis());
  }

  @Test
  void aHolderWhoseTimeoutWasLoweredStopsBelievingBeforeAnotherHasTheLock() throws Exception {
    LockClient client = closeLater(ZooKeeperLocks.builder(framework)
        .storeTimeout(Duration.ofSeconds(2))
        .defaultOptions(LockOptions.renewed(Duration.ofSeconds(60)))
        .build());
    String name = Claims.freshName();
    Lease lease = client.get(name).tryLock().orElseThrow();
    lowerTheLimit();
    // Just confirmed: it believes for as long as it ever will.
    Await.untilAnswered("it is confirmed", () -> {
      try {
        lease.verify();
        return true;
      } catch (LockStoreException e) {
        return false;
      }
    });
    proxy.blackhole();
    CuratorFramework others = closeLater(Frameworks.open(ZooKeeperServer.address(server), BEFORE));
    LockClient other = closeLater(ZooKeeperLocks.builder(others).build());
    Lease next = other.get(name).lockWithin(Duration.ofSeconds(60));
    assertThat(lease.isHeld()).as("isHeld() while another has the lock").isFalse();
    assertThat(next.token()).isGreaterThan(lease.token());
    next.close();
    proxy.heal();
  }

  @Test
  void aHolderWhoseTimeoutWasLoweredIsToldOfItsLossBeforeAnotherHasTheLock() throws Exception {
    LockClient client = closeLater(ZooKeeperLocks.builder(framework)
        .storeTimeout(Duration.ofSeconds(2))
        .defaultOptions(LockOptions.renewed(Duration.ofSeconds(120)))
        .build());
    String name = Claims.freshName();
    Lease lease = client.get(name).tryLock().orElseThrow();
    Await.untilAnswered(
        "it is trusted for longer than in a new session",
        () -> lease.remaining().compareTo(BEFORE.dividedBy(4)) > 0);
    CompletableFuture<Long> toldNanos = new CompletableFuture<>();
    lease.onLost(loss -> toldNanos.complete(System.nanoTime()));
    lowerTheLimit();
    // Nothing, or a single sign of life, has been confirmed since: grants are trusted for half of
    // the old timeout, which is longer than all of the new one.
    proxy.blackhole();
    CuratorFramework others = closeLater(Frameworks.open(ZooKeeperServer.address(server), BEFORE));
    LockClient other = closeLater(ZooKeeperLocks.builder(others).build());
    Lease next = other.get(name).lockWithin(Duration.ofSeconds(60));
    long nextNanos = System.nanoTime();
    assertThat(toldNanos)
        .as("the news of the loss, before another has the lock")
        .isDone();
    assertThat(toldNanos.join() - nextNanos).isNegative();
    next.close();
    proxy.heal();
  }
}
