package io.holdfast.lock.redis;

import java.time.Duration;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;

/** Connections to a server that fails when it is told to. */
public final class FailingPool extends ConnectionPool {
  private volatile Runnable beforeEach = () -> {};

  public FailingPool(HostAndPort address) {
    super(address, DefaultJedisClientConfig.builder().build());
  }

  public void beforeEach(Runnable task) {
    beforeEach = task;
  }

  @Override
  public Connection borrowObject(Duration wait) throws Exception {
    beforeEach.run();
    return super.borrowObject(wait);
  }
}
