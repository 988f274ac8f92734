package io.holdfast.lock.zookeeper;

import io.holdfast.lock.LockClientBuilder;
import io.holdfast.lock.tck.GuardedWrites;
import io.holdfast.lock.tck.StoreAccess;
import org.apache.curator.framework.CuratorFramework;

/** A way to a ZooKeeper: one session, shared by the clients of this access. */
class ZooKeeperAccess implements StoreAccess {
  private final CuratorFramework framework;
  private final GuardedWrites guardedWrites;

  ZooKeeperAccess(String address) {
    framework = Frameworks.open(address);
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

  @Override
  public void close() {
    framework.close();
  }
}
