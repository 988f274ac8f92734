package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.JedisClusterCRC16;
import redis.clients.jedis.util.Pool;

/**
 * The primaries of a Cluster, slot by slot. Jedis knows them, but does not say which pool a slot
 * has; so the node is learned from the first connection that Jedis gives for the slot, and from
 * what servers say.
 */
final class ClusterPrimaries implements Primaries {
  private static final int SLOTS = 16_384;
  private static final long REFRESH_EVERY_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private final RedisClusterClient client;
  private final AtomicReferenceArray<@Nullable String> nodes = new AtomicReferenceArray<>(SLOTS);
  private final AtomicLong refreshedNanos = new AtomicLong(System.nanoTime() - REFRESH_EVERY_NANOS);

  ClusterPrimaries(RedisClusterClient client) {
    this.client = client;
  }

  @Override
  public Pool<Connection> of(String key) throws StoreException {
    int slot = JedisClusterCRC16.getSlot(key);
    Pool<Connection> known = poolOf(nodes.get(slot));
    if (known != null) {
      return known;
    }
    return learn(slot);
  }

  private Pool<Connection> learn(int slot) throws StoreException {
    String node;
    try (Connection connection = client.getConnectionFromSlot(slot)) {
      node = connection.getHostAndPort().toString();
    } catch (JedisException e) {
      // Jedis goes on to give the dead node until it is told to ask for another.
      refresh();
      throw Failures.unconnected(e);
    }
    Pool<Connection> learned = poolOf(node);
    if (learned == null) {
      throw StoreException.refused("The Cluster's client has no pool for its node " + node, null);
    }
    nodes.set(slot, node);
    return learned;
  }

  /**
   * The first primary tells which slots each of them has, and Jedis, which has just asked as well,
   * at which address that is to be reached.
   */
  @Override
  public List<Pool<Connection>> all(Server server, Deadline deadline) throws StoreException {
    refresh();
    Object reply = server.read(
        learn(0),
        new CommandArguments(Protocol.Command.CLUSTER).add(Protocol.ClusterKeyword.SLOTS),
        deadline);
    Set<Pool<Connection>> all = new LinkedHashSet<>();
    if (reply instanceof List<?> ranges) {
      for (Object range : ranges) {
        if (!(range instanceof List<?> parts && parts.get(0) instanceof Long first)) {
          throw Reply.noAnswer(reply);
        }
        all.add(learn(first.intValue()));
      }
    }
    if (all.isEmpty()) {
      throw Reply.noAnswer(reply);
    }
    return List.copyOf(all);
  }

  private @Nullable Pool<Connection> poolOf(@Nullable String node) {
    Pool<Connection> pool = node == null ? null : client.getClusterNodes().get(node);
    return pool == null || pool.isClosed() ? null : pool;
  }

  @Override
  public Object group(String key) {
    int slot = JedisClusterCRC16.getSlot(key);
    String node = nodes.get(slot);
    return node == null ? (Object) slot : node;
  }

  @Override
  public void moved(String key, HostAndPort target) {
    if (poolOf(target.toString()) == null) {
      refresh();
    }
    nodes.set(JedisClusterCRC16.getSlot(key), target.toString());
  }

  @Override
  public Pool<Connection> at(HostAndPort target) throws StoreException {
    Pool<Connection> pool = poolOf(target.toString());
    if (pool == null) {
      refresh();
      pool = poolOf(target.toString());
    }
    if (pool == null) {
      throw StoreException.refused("The Cluster's client does not know the node " + target, null);
    }
    return pool;
  }

  /** Another node may have been elected. */
  @Override
  public void failed(String key) {
    refresh();
    nodes.set(JedisClusterCRC16.getSlot(key), null);
  }

  /** Jedis asks the nodes; not more often than it helps. */
  private void refresh() {
    long last = refreshedNanos.get();
    long now = System.nanoTime();
    if (now - last >= REFRESH_EVERY_NANOS && refreshedNanos.compareAndSet(last, now)) {
      try {
        client.refreshClusterTopology();
      } catch (JedisException e) {
        // No node answers; whoever asks next will see.
      }
    }
  }

  @Override
  public void checkTogether(String lock, List<String> keys) {
    int slot = JedisClusterCRC16.getSlot(lock);
    for (String key : keys) {
      if (JedisClusterCRC16.getSlot(key) != slot) {
        throw new IllegalArgumentException("The key '"
            + key
            + "' is in another slot of the Cluster than the lock, so the two can't be checked and"
            + " written in one step; give it the lock's hash tag: "
            + lock.substring(lock.indexOf('{')));
      }
    }
  }
}
