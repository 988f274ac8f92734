package io.holdfast.lock.bench.candidate;

import java.net.URI;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.params.SetParams;

/**
 * {@link BareRedis} for several JVMs: the release publishes a message, and waiters try again. Each
 * JVM has one waiter; its other threads wait at the gate.
 */
final class BareRedisWithWake implements Client {
  private static final String CHANNEL = "bench:bare-wake";
  private static final SetParams IF_ABSENT = SetParams.setParams().nx().px(30_000);
  private static final int MISSED_MILLIS = 500;

  private final RedisClient redis;
  private final String release;
  private final Gate gate = new Gate();
  private final Semaphore released = new Semaphore(0);
  private final JedisPubSub subscription = new JedisPubSub() {
    @Override
    public void onMessage(String channel, String message) {
      released.release();
    }
  };

  BareRedisWithWake(String url) throws InterruptedException {
    redis = RedisClient.create(URI.create(url));
    release = redis.scriptLoad("""
        if redis.call('GET', KEYS[1]) == ARGV[1] then
          redis.call('DEL', KEYS[1])
          return redis.call('PUBLISH', ARGV[2], '')
        end
        return 0
        """);
    Thread listener = new Thread(() -> redis.subscribe(subscription, CHANNEL), "bare-wake");
    listener.setDaemon(true);
    listener.start();
    while (!subscription.isSubscribed()) {
      TimeUnit.MILLISECONDS.sleep(10);
    }
  }

  @Override
  public Mutex mutex(String name) {
    ReentrantLock local = gate.of(name);
    String owner = UUID.randomUUID().toString();
    return Mutex.of(
        () -> {
          local.lock();
          released.drainPermits();
          while (redis.set(name, owner, IF_ABSENT) == null) {
            if (released.tryAcquire(MISSED_MILLIS, TimeUnit.MILLISECONDS)) {
              released.drainPermits();
            }
          }
        },
        () -> {
          redis.evalsha(release, List.of(name), List.of(owner, CHANNEL));
          local.unlock();
        });
  }
}
