package io.holdfast.lock.redis;

import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.process.KilledHoldersSoak;

/** Processes that hold locks, read locks and permits on Redis are killed. */
class RedisKilledHoldersTest extends KilledHoldersSoak {
  @Override
  protected Fixture openFixture() {
    return RedisFixture.whole(RedisContainer.start(RedisContainer.REDIS, RedisContainer.DURABLE));
  }
}
