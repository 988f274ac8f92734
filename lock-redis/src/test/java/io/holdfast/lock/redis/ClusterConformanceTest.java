package io.holdfast.lock.redis;

import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.LockConformance;
import org.junit.jupiter.api.Tag;

/** The rules of docs/SPEC.md on a Cluster of three primaries. */
@Tag("nightly")
class ClusterConformanceTest extends LockConformance {
  @Override
  protected Fixture openFixture() throws Exception {
    return new ClusterFixture(ManyServers.cluster());
  }
}
