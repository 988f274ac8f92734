package io.holdfast.lock.redis;

import io.holdfast.lock.redis.server.Keys;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.testsupport.Claims;
import java.time.Duration;
import redis.clients.jedis.UnifiedJedis;

/** A lock as a server has it, described in key.lua; and changes that tests make to it. */
public final class Stored {
  private Stored() {}

  public static String keyOf(LockKey lock) {
    return Keys.of(RedisLocks.DEFAULT_PREFIX, lock);
  }

  public static String keyOf(String name) {
    return keyOf(Claims.key(name));
  }

  /** The last grant; empty: none is known. */
  public static String grant(UnifiedJedis redis, String key) {
    String grant = redis.lindex(key, 0);
    return grant == null ? "" : grant;
  }

  /** Whether somebody has the lock, or a minimum hold keeps it. */
  public static boolean isTaken(UnifiedJedis redis, String key) {
    String grant = grant(redis, key);
    return !grant.isEmpty() && !grant.startsWith("-") && leftMillis(redis, key) > 0;
  }

  public static long number(UnifiedJedis redis, String key) {
    return Long.parseLong(grant(redis, key).split("\\|", -1)[2]);
  }

  /** The time that the grant still stands. */
  public static long leftMillis(UnifiedJedis redis, String key) {
    return redis.pttl(key) - RedisLocks.NUMBERS_KEPT.toMillis();
  }

  public static void setLeft(UnifiedJedis redis, String key, Duration left) {
    redis.pexpire(key, left.plus(RedisLocks.NUMBERS_KEPT).toMillis());
  }

  /** The grant's time is over, which nobody is told. */
  public static void lapse(UnifiedJedis redis, String key) {
    // At zero, the last millisecond has begun.
    setLeft(redis, key, Duration.ofMillis(-1));
  }

  /** The number of waiters in line, dead or alive. */
  public static long waiting(UnifiedJedis redis, String key) {
    return Math.max(0, redis.llen(key) - 1);
  }

  /** As if the lock had been had under that number, and were free. */
  public static void setNumber(UnifiedJedis redis, String key, long number) {
    redis.del(key);
    redis.rpush(key, "-|f|" + number + '|' + RedisLocks.NUMBERS_KEPT.toMillis() + '|');
    lapse(redis, key);
  }
}
