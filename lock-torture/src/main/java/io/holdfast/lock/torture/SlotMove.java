package io.holdfast.lock.torture;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.JedisClusterCRC16;

/** The move of one slot of a Cluster from the primary that has it to another. */
final class SlotMove {
  private static final Duration SETTLED_MAX = Duration.ofSeconds(40);
  private static final long PAUSE_NANOS = 200_000_000;
  private static final int KEYS_AT_ONCE = 100;

  private final int slot;
  private final Primary from;
  private final Primary to;
  private final List<Primary> all;

  private SlotMove(int slot, Primary from, Primary to, List<Primary> all) {
    this.slot = slot;
    this.from = from;
    this.to = to;
    this.all = all;
  }

  /** A server that has slots, as CLUSTER NODES tells of it. */
  private record Primary(String id, Address address, List<String> slots) {
    /** Returns null for a replica, and for a server that is down or has no slot. */
    static @Nullable Primary parse(String line) {
      String[] words = line.split(" ", -1);
      List<String> flags = List.of(words[2].split(",", -1));
      boolean serves = flags.contains("master") && !line.contains("fail") && words.length > 8;
      return serves
          ? new Primary(
              words[0],
              Address.split(words[1].substring(0, words[1].indexOf('@'))).get(0),
              Arrays.asList(words).subList(8, words.length))
          : null;
    }

    boolean has(int slot) {
      return slots.stream().filter(range -> !range.startsWith("[")).anyMatch(range -> {
        String[] ends = range.split("-", -1);
        return Integer.parseInt(ends[0]) <= slot && slot <= Integer.parseInt(ends[ends.length - 1]);
      });
    }
  }

  /**
   * Begins to move the slot of a key. From now on, a key that the old server does not have is
   * looked for at the new one.
   *
   * @throws IllegalStateException the Cluster has not settled in time
   */
  static SlotMove begin(List<Address> servers, String key) {
    int slot = JedisClusterCRC16.getSlot(key);
    long end = System.nanoTime() + SETTLED_MAX.toNanos();
    while (true) {
      for (Address server : servers) {
        List<Primary> all = primaries(server);
        for (Primary from : all) {
          if (all.size() > 1 && from.has(slot)) {
            Primary to = all.get((all.indexOf(from) + 1) % all.size());
            SlotMove move = new SlotMove(slot, from, to, all);
            move.set(to, "IMPORTING", from.id);
            move.set(from, "MIGRATING", to.id);
            return move;
          }
        }
      }
      if (System.nanoTime() - end > 0) {
        throw new IllegalStateException("Nobody has slot " + slot + " of " + key);
      }
      LockSupport.parkNanos(PAUSE_NANOS);
    }
  }

  /** Returns the primaries as one server sees them; none if it does not answer. */
  private static List<Primary> primaries(Address server) {
    try (RedisClient node = RedisAccess.client(server)) {
      String lines = RedisAccess.text(RedisAccess.run(node, Protocol.Command.CLUSTER, "NODES"));
      return lines.lines().map(Primary::parse).flatMap(Stream::ofNullable).toList();
    } catch (JedisException e) {
      return List.of();
    }
  }

  /**
   * Moves some of the keys that are still at the old server, if both are ready for it. Returns
   * whether none is left.
   */
  boolean moveKeys(int count) {
    try (RedisClient source = RedisAccess.client(from.address)) {
      List<?> keys =
          (List<?>) RedisAccess.run(source, Protocol.Command.CLUSTER, "GETKEYSINSLOT", slot, count);
      for (Object key : keys) {
        String host = to.address.host();
        RedisAccess.run(source, Protocol.Command.MIGRATE, host, to.address.port(), key, 0, 5_000);
      }
      return keys.isEmpty();
    } catch (JedisException e) {
      return false; // A server was started again a moment ago.
    }
  }

  /** Gives the slot to the new server, which is told first: the slot always has an owner. */
  void end() {
    Waiting.until("the keys of slot " + slot, SETTLED_MAX, () -> moveKeys(KEYS_AT_ONCE));
    set(to, "NODE", to.id);
    set(from, "NODE", to.id);
    for (Primary other : all) {
      if (!other.equals(from) && !other.equals(to)) {
        set(other, "NODE", to.id);
      }
    }
  }

  private void set(Primary server, String state, String id) {
    try (RedisClient node = RedisAccess.client(server.address)) {
      RedisAccess.run(node, Protocol.Command.CLUSTER, "SETSLOT", slot, state, id);
    }
  }
}
