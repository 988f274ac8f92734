package io.holdfast.lock.tck.remote;

import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.memory.InMemoryFixture;
import io.holdfast.lock.tck.process.KilledHoldersSoak;

/** Processes that hold locks of a server are killed. */
class RemoteKilledHoldersTest extends KilledHoldersSoak {
  @Override
  protected Fixture openFixture() {
    return RemoteFixture.over(new InMemoryFixture().plainStore());
  }
}
