package io.holdfast.lock.spring.boot;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.zookeeper.ZooKeeperLocks;
import org.apache.curator.framework.CuratorFramework;

/**
 * ZooKeeper, through a Curator framework.
 *
 * @param own whether the framework was made for the locks, and is to be closed with them
 */
record ZooKeeperSource(
    CuratorFramework framework, boolean own, String where, HoldfastProperties.Zookeeper properties)
    implements StoreSource, AutoCloseable {

  @Override
  public StoreKind kind() {
    return StoreKind.ZOOKEEPER;
  }

  @Override
  public LockClientBuilder<?> builder() {
    return Property.apply(
        "holdfast.zookeeper.path", properties.path(), ZooKeeperLocks.builder(framework)::path);
  }

  @Override
  public String place() {
    return "zookeeper (" + where + ", path " + properties.path() + ")";
  }

  @Override
  public String whenUnreachable() {
    return own
        ? "check holdfast.zookeeper.connect-string"
        : "check the " + where + ", or set holdfast.zookeeper.connect-string";
  }

  @Override
  public String whenUnusable() {
    return own
        ? "check holdfast.zookeeper.connect-string and holdfast.zookeeper.path"
        : "start the " + where + " where it is made, or set holdfast.zookeeper.connect-string";
  }

  @Override
  public void close() {
    if (own) {
      framework.close();
    }
  }
}
