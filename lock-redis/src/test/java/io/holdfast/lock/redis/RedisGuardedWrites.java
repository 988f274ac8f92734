package io.holdfast.lock.redis;

import io.holdfast.lock.Lease;
import io.holdfast.lock.tck.GuardedWrites;
import java.util.List;
import redis.clients.jedis.UnifiedJedis;

/** Logs in lists, appended to by a guarded script. */
final class RedisGuardedWrites implements GuardedWrites {
  private static final String APPEND = "return redis.call('RPUSH', KEYS[1], ARGV[1])";

  private final UnifiedJedis redis;

  RedisGuardedWrites(UnifiedJedis redis) {
    this.redis = redis;
  }

  @Override
  public void create(String log) {
    // A list that is not there is empty.
  }

  @Override
  public void append(String log, Lease lease, String entry, Step beforeEffect) throws Exception {
    RedisGuard guard = RedisGuard.of(lease);
    beforeEffect.run();
    Object unused = guard.eval(APPEND, List.of(key(log)), List.of(entry));
  }

  @Override
  public List<String> read(String log) {
    return redis.lrange(key(log), 0, -1);
  }

  private static String key(String log) {
    return "kit-log:" + log;
  }
}
