package io.holdfast.lock.bench.candidate;

import io.holdfast.lock.bench.BenchException;
import java.net.URI;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.params.SetParams;

/**
 * A bare program for Redis with two requests: set if absent, and compare and delete. A gate keeps
 * the JVM's own threads apart.
 */
final class BareRedis implements Client {
  private static final SetParams IF_ABSENT = SetParams.setParams().nx().px(30_000);

  private final RedisClient redis;
  private final String release;
  private final Gate gate = new Gate();

  BareRedis(String url) {
    redis = RedisClient.create(URI.create(url));
    release = redis.scriptLoad("""
        if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
        return 0
        """);
  }

  @Override
  public Mutex mutex(String name) {
    ReentrantLock local = gate.of(name);
    String owner = UUID.randomUUID().toString();
    return Mutex.of(
        () -> {
          local.lock();
          if (redis.set(name, owner, IF_ABSENT) == null) {
            throw new BenchException("the floor does not wait for another JVM", null);
          }
        },
        () -> {
          redis.evalsha(release, List.of(name), List.of(owner));
          local.unlock();
        });
  }
}
