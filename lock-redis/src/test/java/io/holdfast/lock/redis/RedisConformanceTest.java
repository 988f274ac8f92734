package io.holdfast.lock.redis;

import io.holdfast.lock.tck.Fixture;
import io.holdfast.lock.tck.LockConformance;
import io.holdfast.lock.testsupport.Image;
import io.holdfast.lock.testsupport.ServerContainer;

/** The rules of docs/SPEC.md on one server. */
class RedisConformanceTest extends LockConformance {
  @Override
  protected Fixture openFixture() {
    return RedisFixture.whole(ServerContainer.start(Image.REDIS, ManyServers.DURABLE.split(" ")));
  }
}
