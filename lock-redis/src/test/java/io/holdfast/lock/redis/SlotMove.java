package io.holdfast.lock.redis;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.util.JedisClusterCRC16;

/** The move of one slot from the node that has it to another, step by step. */
final class SlotMove {
  private static final int PRIMARIES = 3;

  private final ManyServers servers;
  private final int slot;
  private final int from;
  private final int to;
  private final String base;
  private final AtomicInteger tried = new AtomicInteger();

  private SlotMove(ManyServers servers, int slot, int from, int to, String base) {
    this.servers = servers;
    this.slot = slot;
    this.from = from;
    this.to = to;
    this.base = base;
  }

  /**
   * Of the slot of a name.
   *
   * @param toTheEmptyNode whether to the node (3) that has no slot yet
   */
  static SlotMove of(ManyServers servers, String name, boolean toTheEmptyNode) {
    int slot = JedisClusterCRC16.getSlot("{" + name + "}");
    int from = ownerOf(servers, slot);
    return new SlotMove(
        servers, slot, from, toTheEmptyNode ? PRIMARIES : (from + 1) % PRIMARIES, name);
  }

  private static int ownerOf(ManyServers servers, int slot) {
    for (int i = 0; i <= PRIMARIES; i++) {
      try (RedisClient node = RedisAccess.client(servers.address(i), 1)) {
        for (String line : text(node, "NODES").lines().toList()) {
          if (line.contains("myself") && owns(line, slot)) {
            return i;
          }
        }
      }
    }
    throw new AssertionError("Nobody has slot " + slot);
  }

  /** A line of CLUSTER NODES has the slots from the ninth word on. */
  private static boolean owns(String line, int slot) {
    String[] words = line.split(" ", -1);
    for (int i = 8; i < words.length; i++) {
      if (!words[i].startsWith("[")) {
        String[] range = words[i].split("-", -1);
        int first = Integer.parseInt(range[0]);
        int last = Integer.parseInt(range[range.length - 1]);
        if (slot >= first && slot <= last) {
          return true;
        }
      }
    }
    return false;
  }

  /** One more name in the slot. */
  String nextName() {
    while (true) {
      String name = base + '/' + tried.getAndIncrement();
      if (JedisClusterCRC16.getSlot("{" + name + "}") == slot) {
        return name;
      }
    }
  }

  /** From now on, what is not there is asked for at the new node. */
  void begin() {
    String fromId = myId(from);
    String toId = myId(to);
    setSlot(to, "IMPORTING", fromId);
    setSlot(from, "MIGRATING", toId);
  }

  /** Moves some of the keys that are still at the old node. Returns how many. */
  int moveKeys(int count) {
    List<String> keys = new ArrayList<>();
    try (RedisClient source = node(from)) {
      Object found = source.executeCommand(new CommandArguments(Protocol.Command.CLUSTER)
          .add("GETKEYSINSLOT")
          .add(slot)
          .add(count));
      ((List<?>) found).forEach(key -> keys.add(utf8(key)));
      for (String key : keys) {
        migrate(source, key);
      }
    }
    return keys.size();
  }

  void moveAll() {
    while (moveKeys(100) > 0) {
      // until none is left
    }
  }

  void moveKey(String key) {
    try (RedisClient source = node(from)) {
      migrate(source, key);
    }
  }

  private void migrate(RedisClient source, String key) {
    Stores.send(
        source,
        Protocol.Command.MIGRATE,
        servers.address(to).getHost(),
        Integer.toString(servers.address(to).getPort()),
        key,
        "0",
        "5000");
  }

  /** The slot is the new node's; first there, or it would be nobody's for a moment. */
  void end() {
    moveAll();
    String toId = myId(to);
    setSlot(to, "NODE", toId);
    setSlot(from, "NODE", toId);
    for (int i = 0; i < PRIMARIES; i++) {
      if (i != from && i != to) {
        setSlot(i, "NODE", toId);
      }
    }
  }

  /**
   * The slot stays where it is; what was made at the new node, which has no other slot, is lost.
   */
  void giveUp() {
    try (RedisClient target = node(to)) {
      target.flushAll();
    }
    setSlot(to, "STABLE");
    setSlot(from, "STABLE");
  }

  private void setSlot(int index, String... state) {
    List<String> words = new ArrayList<>(List.of("SETSLOT", Integer.toString(slot)));
    words.addAll(List.of(state));
    try (RedisClient node = node(index)) {
      Stores.send(node, Protocol.Command.CLUSTER, words.toArray(String[]::new));
    }
  }

  private String myId(int index) {
    try (RedisClient node = node(index)) {
      return text(node, "MYID");
    }
  }

  private RedisClient node(int index) {
    return RedisAccess.client(servers.address(index), 1);
  }

  private static String text(RedisClient node, String subcommand) {
    return utf8(
        node.executeCommand(new CommandArguments(Protocol.Command.CLUSTER).add(subcommand)));
  }

  private static String utf8(Object reply) {
    return new String((byte[]) reply, StandardCharsets.UTF_8);
  }
}
