package io.holdfast.lock.redis;

import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.LockConformance;

/** The rules of docs/SPEC.md on Valkey. */
class ValkeyConformanceTest extends LockConformance {
  @Override
  protected Fixture openFixture() {
    return RedisFixture.unbroken(RedisContainer.start(RedisContainer.VALKEY, "--save", ""));
  }
}
