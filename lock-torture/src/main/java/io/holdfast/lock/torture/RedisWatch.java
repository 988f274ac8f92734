package io.holdfast.lock.torture;

import io.holdfast.lock.torture.Attempt.Interval;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Watches whether replicating servers are settled: every one answers, there are as many primaries
 * as there should be, and the others are connected replicas. While they are not, a failover or a
 * primary that comes back may lose what was confirmed.
 */
final class RedisWatch implements AutoCloseable {
  private static final long LOOK_NANOS = 100_000_000;

  private final List<RedisClient> servers;
  private final int primaries;
  private final List<Interval> unsettled = Collections.synchronizedList(new ArrayList<>());
  private final Thread thread = new Thread(this::watch, "redis-watch");
  private volatile boolean closed;

  private RedisWatch(List<Address> servers, int primaries) {
    this.servers = servers.stream().map(RedisAccess::client).toList();
    this.primaries = primaries;
    this.thread.setDaemon(true);
  }

  /** Starts a watch of the servers that hold data; null if this store does not lose any. */
  static @Nullable RedisWatch of(StoreKind store, List<Address> servers) {
    @Nullable
    RedisWatch watch = switch (store) {
      case REDIS_SENTINEL -> new RedisWatch(servers.subList(0, servers.size() - 1), 1);
      case REDIS_CLUSTER -> new RedisWatch(servers, servers.size() / 2);
      default -> null;
    };
    if (watch != null) {
      watch.thread.start();
    }
    return watch;
  }

  /** Returns the unsettled times, each between the settled looks before and after it. */
  List<Interval> unsettled() {
    synchronized (unsettled) {
      return List.copyOf(unsettled);
    }
  }

  private void watch() {
    long wellAt = System.nanoTime();
    boolean well = true;
    while (!closed) {
      long began = System.nanoTime();
      boolean settled = haveSettled();
      long now = System.nanoTime();
      if (settled && well) {
        wellAt = began;
      } else if (settled) {
        unsettled.set(unsettled.size() - 1, new Interval(wellAt, now));
        wellAt = began;
      } else if (well) {
        unsettled.add(new Interval(wellAt, Long.MAX_VALUE));
      }
      well = settled;
      LockSupport.parkNanos(LOOK_NANOS);
    }
  }

  private boolean haveSettled() {
    int found = 0;
    for (RedisClient server : servers) {
      try {
        List<?> role = (List<?>) RedisAccess.run(server, Protocol.Command.ROLE);
        String name = RedisAccess.text(role.get(0));
        if (name.equals("master")) {
          found++;
        } else if (!RedisAccess.text(role.get(3)).equals("connected")) {
          return false;
        }
      } catch (JedisException e) {
        return false;
      }
    }
    return found == primaries;
  }

  @Override
  public void close() {
    closed = true;
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    servers.forEach(RedisClient::close);
  }
}
