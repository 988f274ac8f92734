package io.holdfast.lock.redis;

import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.LockConformance;

/** The rules of docs/SPEC.md on one server. */
class RedisConformanceTest extends LockConformance {
  @Override
  protected Fixture openFixture() {
    return RedisFixture.whole(RedisContainer.start(RedisContainer.REDIS, RedisContainer.DURABLE));
  }
}
