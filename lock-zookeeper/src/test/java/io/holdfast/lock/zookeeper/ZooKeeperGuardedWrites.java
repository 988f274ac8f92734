package io.holdfast.lock.zookeeper;

import io.holdfast.lock.Lease;
import io.holdfast.lock.tck.GuardedWrites;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.CreateMode;

/** Logs as sequential nodes. */
final class ZooKeeperGuardedWrites implements GuardedWrites {
  private static final String LOGS = "/kit-logs/";

  private final CuratorFramework framework;

  ZooKeeperGuardedWrites(CuratorFramework framework) {
    this.framework = framework;
  }

  @Override
  public void create(String log) throws Exception {
    framework.create().creatingParentsIfNeeded().forPath(path(log));
  }

  @Override
  public void append(String log, Lease lease, String entry, Step beforeEffect) throws Exception {
    ZooKeeperGuard guard = ZooKeeperGuard.of(lease);
    beforeEffect.run();
    guard.commit(
        framework,
        framework
            .transactionOp()
            .create()
            .withMode(CreateMode.PERSISTENT_SEQUENTIAL)
            .forPath(path(log) + "/e", entry.getBytes(StandardCharsets.UTF_8)));
  }

  @Override
  public List<String> read(String log) throws Exception {
    framework.sync().forPath(path(log));
    List<String> names = new ArrayList<>(framework.getChildren().forPath(path(log)));
    Collections.sort(names);
    List<String> entries = new ArrayList<>();
    for (String name : names) {
      byte[] data = framework.getData().forPath(path(log) + "/" + name);
      entries.add(new String(data, StandardCharsets.UTF_8));
    }
    return entries;
  }

  private static String path(String log) {
    return LOGS + Integer.toHexString(log.hashCode()) + log.replaceAll("[^A-Za-z0-9]", "_");
  }
}
