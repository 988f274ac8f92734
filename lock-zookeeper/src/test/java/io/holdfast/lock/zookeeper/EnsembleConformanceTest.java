package io.holdfast.lock.zookeeper;

import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.LockConformance;
import org.junit.jupiter.api.Tag;

/** The rules of docs/SPEC.md on three servers. */
@Tag("nightly")
class EnsembleConformanceTest extends LockConformance {
  @Override
  protected Fixture openFixture() {
    return new EnsembleFixture(new Ensemble(), EnsembleFixture.BRIEF);
  }
}
