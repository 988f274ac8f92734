package io.holdfast.lock.tck.remote;

import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.LockConformance;
import io.holdfast.lock.tck.memory.InMemoryFixture;

/** The rules over TCP and between processes. */
class RemoteConformanceTest extends LockConformance {
  @Override
  protected Fixture openFixture() {
    return RemoteFixture.over(new InMemoryFixture().plainStore());
  }
}
