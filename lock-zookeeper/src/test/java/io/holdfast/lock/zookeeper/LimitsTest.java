package io.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.TimeSource;
import io.holdfast.lock.tck.fault.FaultProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A server that is started again with a lower limit of session timeouts. */
@Tag("one-jdk")
@Timeout(120)
class LimitsTest {
  /** Half of it, what was said before the limit was lowered, outlasts a slow restart. */
  private static final Duration BEFORE = Duration.ofSeconds(50);

  private static final Duration AFTER = Duration.ofSeconds(6);

  private final List<AutoCloseable> closeables = new ArrayList<>();
  private ZooKeeperServer server;
  private FaultProxy proxy;
  private CuratorFramework framework;

  @BeforeEach
  void open() {
    server = closeLater(ZooKeeperServer.start());
    proxy = closeLater(FaultProxy.open(server.host(), server.port()));
    framework =
        closeLater(Frameworks.open(ZooKeeperServer.address(proxy.host(), proxy.port()), BEFORE));
  }

  @AfterEach
  void close() throws Exception {
    for (int i = closeables.size() - 1; i >= 0; i--) {
      closeables.get(i).close();
    }
  }

  private <T extends AutoCloseable> T closeLater(T closeable) {
    closeables.add(closeable);
    return closeable;
  }

  private void lowerTheLimit() throws Exception {
    ZooKeeper zk = Frameworks.handle(framework);
    assertThat(zk.getSessionTimeout()).isEqualTo((int) BEFORE.toMillis());
    server.restart(AFTER);
    Stores.eventually(
        "the lower limit is agreed on",
        () -> zk.getState().isConnected() && zk.getSessionTimeout() == AFTER.toMillis());
  }

  @Test
  void aHolderWhoseTimeoutWasLoweredStopsBelievingBeforeAnotherHasTheLock() throws Exception {
    LockClient client = closeLater(ZooKeeperLocks.builder(framework)
        .storeTimeout(Duration.ofSeconds(2))
        .defaultOptions(LockOptions.renewed(Duration.ofSeconds(60)))
        .build());
    String name = Stores.freshName();
    Lease lease = client.get(name).tryLock().orElseThrow();
    lowerTheLimit();
    // Just confirmed: it believes for as long as it ever will.
    Stores.eventually("it is confirmed", () -> {
      try {
        lease.verify();
        return true;
      } catch (LockStoreException e) {
        return false;
      }
    });
    proxy.blackhole();
    CuratorFramework others = closeLater(Frameworks.open(server.address(), BEFORE));
    LockClient other = closeLater(ZooKeeperLocks.builder(others).build());
    Lease next = other.get(name).lockWithin(Duration.ofSeconds(60));
    assertThat(lease.isHeld()).as("isHeld() while another has the lock").isFalse();
    assertThat(next.token()).isGreaterThan(lease.token());
    next.close();
    proxy.heal();
  }

  @Test
  void aHolderWhoseTimeoutWasLoweredIsToldOfItsLossIfNothingConfirmsIt() throws Exception {
    Stores.Events events = new Stores.Events();
    ZooKeeperStore store = closeLater(Stores.open(framework, "test", TimeSource.system(), events));
    Grant grant = Stores.take(store, Stores.claim(Stores.freshName()));
    lowerTheLimit();
    long agreedNanos = System.nanoTime();
    proxy.blackhole();
    Stores.eventually("the loss is told", () -> events.lost.contains(grant));
    assertThat(Duration.ofNanos(System.nanoTime() - agreedNanos))
        .as("the time to the news of the loss, where the session has %s to live", AFTER)
        .isLessThan(AFTER);
    proxy.heal();
  }
}
