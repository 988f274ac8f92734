package io.holdfast.lock.consul;

import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.LockConformance;

/** The rules of docs/SPEC.md on Consul. */
class ConsulConformanceTest extends LockConformance {
  @Override
  protected Fixture openFixture() {
    return new ConsulFixture(ConsulServer.start());
  }
}
