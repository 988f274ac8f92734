package io.holdfast.lock.zookeeper;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryForever;
import org.apache.zookeeper.ZooKeeper;

/** Curator frameworks as users make them. */
final class Frameworks {
  /** Half of it is the longest that a lease is trusted: enough for the kit's pauses. */
  static final Duration SESSION_TIMEOUT = Duration.ofSeconds(22);

  private static final int CONNECT_SECONDS_MAX = 60;

  static {
    // Else each session of a test first looks for a Kerberos that is not there.
    System.setProperty("zookeeper.sasl.client", "false");
  }

  private Frameworks() {}

  static CuratorFramework open(String addresses) {
    return open(addresses, SESSION_TIMEOUT);
  }

  static CuratorFramework open(String addresses, Duration sessionTimeout) {
    CuratorFramework framework = CuratorFrameworkFactory.builder()
        .connectString(addresses)
        .sessionTimeoutMs((int) sessionTimeout.toMillis())
        .connectionTimeoutMs(5_000)
        .retryPolicy(new RetryForever(100))
        // The servers know each other by names that mean nothing outside of their network.
        .ensembleTracker(false)
        .build();
    return start(framework);
  }

  static CuratorFramework start(CuratorFramework framework) {
    framework.start();
    awaitConnection(framework);
    return framework;
  }

  static void awaitConnection(CuratorFramework framework) {
    try {
      if (!framework.blockUntilConnected(CONNECT_SECONDS_MAX, TimeUnit.SECONDS)) {
        throw new AssertionError("No connection to ZooKeeper");
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  static ZooKeeper handle(CuratorFramework framework) throws Exception {
    return framework.getZookeeperClient().getZooKeeper();
  }
}
