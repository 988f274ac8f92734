package io.holdfast.lock.zookeeper;

import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.process.KilledHoldersSoak;

/** Processes that hold locks and permits on ZooKeeper are killed. */
class ZooKeeperKilledHoldersTest extends KilledHoldersSoak {
  @Override
  protected Fixture openFixture() {
    return new ZooKeeperFixture(ZooKeeperServer.start());
  }

  /** A session lasts longer than most TTLs. */
  @Override
  protected int lanes() {
    return 4;
  }
}
