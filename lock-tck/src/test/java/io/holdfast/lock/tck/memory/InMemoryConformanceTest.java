package io.holdfast.lock.tck.memory;

import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.LockConformance;

/** The rules on the in-memory store, and with it on the engine. */
class InMemoryConformanceTest extends LockConformance {
  @Override
  protected Fixture openFixture() {
    return new InMemoryFixture();
  }
}
