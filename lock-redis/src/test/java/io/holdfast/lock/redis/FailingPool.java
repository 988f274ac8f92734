package io.holdfast.lock.redis;

import java.time.Duration;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;

/** Connections to a server that fails when it is told to. */
final class FailingPool extends ConnectionPool {
  private volatile Runnable beforeEach = () -> {};

  FailingPool(HostAndPort address) {
    super(address, DefaultJedisClientConfig.builder().build());
  }

  void beforeEach(Runnable task) {
    beforeEach = task;
  }

  @Override
  public Connection borrowObject(Duration wait) throws Exception {
    beforeEach.run();
    return super.borrowObject(wait);
  }
}
