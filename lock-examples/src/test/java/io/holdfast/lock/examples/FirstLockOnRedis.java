package io.holdfast.lock.examples;

// tag::first-lock-redis[]
import io.holdfast.lock.LockClient;
import io.holdfast.lock.redis.RedisLocks;
import redis.clients.jedis.RedisClient;

public class FirstLockOnRedis {
  public static void main(String[] args) throws Exception {
    try (RedisClient redis = RedisClient.create("redis://localhost:6379");
        LockClient locks = RedisLocks.builder(redis).build()) {
      locks
          .get("orders/42")
          .run(lease -> System.out.println("It is mine, with token " + lease.token()));
    }
  }
}
// end::first-lock-redis[]
