package io.holdfast.lock.redis;

import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.LockConformance;
import org.junit.jupiter.api.Tag;

/** The rules of docs/SPEC.md on a quorum of three servers. */
@Tag("nightly")
class QuorumConformanceTest extends LockConformance {
  @Override
  protected Fixture openFixture() throws Exception {
    return new QuorumFixture(3);
  }
}
