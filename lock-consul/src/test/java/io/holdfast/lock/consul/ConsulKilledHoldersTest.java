package io.holdfast.lock.consul;

import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.process.KilledHoldersSoak;

/** Processes that hold locks and permits on Consul are killed. */
class ConsulKilledHoldersTest extends KilledHoldersSoak {
  @Override
  protected Fixture openFixture() {
    return new ConsulFixture(new KitContainer());
  }

  /** A session lasts longer than most TTLs. */
  @Override
  protected int lanes() {
    return 4;
  }
}
