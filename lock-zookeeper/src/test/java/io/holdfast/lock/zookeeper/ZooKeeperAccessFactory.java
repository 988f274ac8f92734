package io.holdfast.lock.zookeeper;

import io.holdfast.lock.tck.StoreAccess;
import io.holdfast.lock.tck.StoreAccessFactory;
import java.util.List;

/** A child process's way to a ZooKeeper: its address. */
public final class ZooKeeperAccessFactory implements StoreAccessFactory {
  /** For the child process. */
  public ZooKeeperAccessFactory() {}

  @Override
  public StoreAccess open(List<String> arguments) {
    return new ZooKeeperAccess(arguments.get(0));
  }
}
