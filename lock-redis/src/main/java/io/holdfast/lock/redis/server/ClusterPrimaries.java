package io.holdfast.lock.redis.server;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.providers.ClusterConnectionProvider;
import redis.clients.jedis.util.JedisClusterCRC16;
import redis.clients.jedis.util.Pool;

/**
 * The primaries of a Cluster, slot by slot. What Jedis says of a slot is remembered until a server
 * says that another one has it, until a call for that slot can't reach its server, or until Jedis
 * closes that server's pool.
 */
public final class ClusterPrimaries implements Primaries {
  private static final int SLOTS = 16_384;

  private final ClusterConnectionProvider jedis;

  /** For each slot the address of its primary; null: Jedis must be asked. */
  private final AtomicReferenceArray<@Nullable String> nodes = new AtomicReferenceArray<>(SLOTS);

  private final TopologyRefresh refresh;

  /**
   * Makes the primaries of a Cluster, as a client knows them.
   *
   * @param jedis the connections of the user's client
   */
  public ClusterPrimaries(ClusterConnectionProvider jedis, String threadName) {
    this.jedis = jedis;
    this.refresh = new TopologyRefresh(jedis::renewSlotCache, TimeSource.system(), threadName);
  }

  @Override
  public Pool<Connection> of(String key) throws StoreException {
    int slot = JedisClusterCRC16.getSlot(key);
    Pool<Connection> known = poolOf(nodes.get(slot));
    return known == null ? learn(slot) : known;
  }

  private Pool<Connection> learn(int slot) throws StoreException {
    HostAndPort unusable = null;
    while (true) {
      HostAndPort node = jedis.getNode(slot);
      if (node == null) {
        Future<?> unused = refresh.start(); // For the next call: this one has no deadline.
        throw StoreException.refused(
            "The Cluster's client knows no primary for slot " + slot, null);
      }
      Pool<Connection> learned = poolOf(node.toString());
      if (learned != null) {
        nodes.set(slot, node.toString());
        return learned;
      }
      // Jedis may have learnt of another one between these two calls.
      if (node.equals(unusable)) {
        throw StoreException.refused("The Cluster's client has no pool for its node " + node, null);
      }
      unusable = node;
    }
  }

  @Override
  public List<Pool<Connection>> all(Deadline deadline) throws StoreException {
    if (!refresh.await(deadline)) {
      throw StoreException.refused(
          "Jedis did not find out in time which servers the Cluster has", null);
    }
    // Slot by slot: Jedis 7 does not add primaries that joined later to its map of primaries.
    Set<HostAndPort> primaries = new HashSet<>();
    List<Pool<Connection>> all = new ArrayList<>();
    for (int slot = 0; slot < SLOTS; slot++) {
      HostAndPort node = jedis.getNode(slot);
      if (primaries.add(node)) {
        Pool<Connection> pool = node == null ? null : poolOf(node.toString());
        if (pool == null) {
          throw StoreException.refused(
              "The Cluster's client has no pool for slot " + slot + " and its node " + node, null);
        }
        all.add(pool);
      }
    }
    return all;
  }

  private @Nullable Pool<Connection> poolOf(@Nullable String node) {
    Pool<Connection> pool = node == null ? null : jedis.getNodes().get(node);
    return pool == null || pool.isClosed() ? null : pool;
  }

  @Override
  public Object group(String key) {
    int slot = JedisClusterCRC16.getSlot(key);
    String node = nodes.get(slot);
    return node == null ? (Object) slot : node;
  }

  @Override
  public void moved(String key, HostAndPort target, Deadline deadline) {
    int slot = JedisClusterCRC16.getSlot(key);
    String before = nodes.get(slot);
    if (poolOf(target.toString()) == null) {
      boolean unused = refresh.await(deadline);
      HostAndPort after = jedis.getNode(slot);
      if (after != null && !after.toString().equals(before)) {
        // Jedis's address comes first: the user may have Jedis map addresses.
        nodes.set(slot, after.toString());
        return;
      }
      if (!deadline.isOver()) {
        JedisException unusedFailure = meet(target);
      }
    }
    nodes.set(slot, target.toString());
  }

  /**
   * Returns the pool of a node. A node without slots does not keep its pool: Jedis closes it
   * whenever it refreshes its view of the Cluster.
   */
  @Override
  public Pool<Connection> at(HostAndPort target, Deadline deadline) throws StoreException {
    JedisException failure = null;
    while (true) {
      Pool<Connection> pool = poolOf(target.toString());
      if (pool != null) {
        return pool;
      }
      // An IllegalStateException: Jedis has closed the new pool again.
      if (deadline.isOver()
          || (failure != null && !(failure.getCause() instanceof IllegalStateException))) {
        throw StoreException.refused(
            "The Cluster's client can't reach the node " + target + ", to which a slot moves",
            failure);
      }
      failure = meet(target);
    }
  }

  /**
   * Has Jedis make a pool for a node that it does not know, since the node has no slot yet. Returns
   * the failure, or null.
   */
  private @Nullable JedisException meet(HostAndPort node) {
    try (Connection connection = jedis.getConnection(node)) {
      return connection.isBroken() ? new JedisException("The connection broke") : null;
    } catch (JedisException e) {
      return e;
    }
  }

  /** Refreshes Jedis's view of the Cluster, since another node may have been elected. */
  @Override
  public void failed(String key, Deadline deadline) {
    boolean unused = refresh.await(deadline);
    nodes.set(JedisClusterCRC16.getSlot(key), null);
  }

  @Override
  public void checkTogether(String lock, List<String> keys) {
    int slot = JedisClusterCRC16.getSlot(lock);
    for (String key : keys) {
      if (JedisClusterCRC16.getSlot(key) != slot) {
        throw new IllegalArgumentException(
            ("The key '%s' is in another slot of the Cluster than the lock, so the two can't be"
                    + " checked and written in one step; give it the lock's hash tag: %s")
                .formatted(key, lock.substring(lock.indexOf('{'))));
      }
    }
  }

  @Override
  public void close() {
    refresh.close();
  }
}
