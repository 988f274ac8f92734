package io.holdfast.lock.spring.boot;

import redis.clients.jedis.UnifiedJedis;

/** The Redis servers in the application's settings, before a Jedis client is made for them. */
interface RedisServers {
  /**
   * Makes a client, which the caller must close.
   *
   * @throws LockConfigurationException these servers can't have locks
   */
  UnifiedJedis connect();

  /** Returns where they are, for the log; without secrets. */
  String place();

  /**
   * Returns what to check if they give no usable answer; see {@link LockConfigurationException}.
   */
  String whenUnreachable();
}
