package io.holdfast.lock.tck.remote;

import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.LockConformance;
import io.holdfast.lock.tck.memory.InMemoryFixture;
import org.junit.jupiter.api.Tag;

/** The rules over TCP and between processes. */
@Tag("one-jdk")
class RemoteConformanceTest extends LockConformance {
  @Override
  protected Fixture openFixture() {
    return RemoteFixture.over(new InMemoryFixture().plainStore());
  }
}
