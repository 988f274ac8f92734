package io.holdfast.lock.zookeeper;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.tck.GuardedWrites;
import io.holdfast.lock.tck.StoreAccess;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.KeeperException;

/** A way to a ZooKeeper: one session, shared by the clients of this access. */
class ZooKeeperAccess implements StoreAccess {
  private final CuratorFramework framework;
  private final GuardedWrites guardedWrites;

  ZooKeeperAccess(String address) {
    this(address, Frameworks.SESSION_TIMEOUT);
  }

  ZooKeeperAccess(String address, Duration sessionTimeout) {
    framework = Frameworks.open(address, sessionTimeout);
    guardedWrites = new ZooKeeperGuardedWrites(framework);
  }

  CuratorFramework framework() {
    return framework;
  }

  @Override
  public LockClientBuilder<?> newClient() {
    return ZooKeeperLocks.builder(framework);
  }

  @Override
  public GuardedWrites guardedWrites() {
    return guardedWrites;
  }

  /** The numbers of nodes of locks, and of nodes in their lines. */
  final Map<String, Long> nodes() throws Exception {
    Map<String, Long> counts = new HashMap<>();
    long nodes = 0;
    long places = 0;
    for (String lock : children(ZooKeeperLocks.DEFAULT_PATH)) {
      if (lock.equals(Names.CLOCK)) {
        continue;
      }
      nodes++;
      places += children(ZooKeeperLocks.DEFAULT_PATH + "/" + lock).size();
    }
    counts.put("nodes of locks", nodes);
    counts.put("nodes in lines", places);
    return counts;
  }

  private List<String> children(String path) throws Exception {
    try {
      return framework().getChildren().forPath(path);
    } catch (KeeperException.NoNodeException e) {
      return List.of();
    }
  }

  @Override
  public void close() {
    framework.close();
  }
}
