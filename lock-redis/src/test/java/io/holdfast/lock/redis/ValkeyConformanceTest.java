package io.holdfast.lock.redis;

import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.LockConformance;
import io.holdfast.lock.testsupport.Image;
import io.holdfast.lock.testsupport.ServerContainer;
import org.junit.jupiter.api.Tag;

/** The rules of docs/SPEC.md on Valkey. */
@Tag("nightly")
class ValkeyConformanceTest extends LockConformance {
  @Override
  protected Fixture openFixture() {
    return RedisFixture.unbroken(ServerContainer.start(Image.VALKEY, "--save", ""));
  }
}
