package io.holdfast.lock.torture;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** A store with its servers, as {@code --store} names it. */
enum StoreKind {
  POSTGRES(1),
  /** A primary, and a standby that is in step with it when it takes over. */
  POSTGRES_2(2),
  MYSQL(1),
  /** As {@link #POSTGRES_2}. */
  MYSQL_2(2),
  MARIADB(1),
  REDIS(1),
  /** A primary, its replica, and a Sentinel with a quorum of one. */
  REDIS_SENTINEL(3),
  /** Three primaries, and a replica of each. */
  REDIS_CLUSTER(6),
  /** Three servers that know nothing of each other. */
  REDIS_QUORUM(3),
  ZOOKEEPER(1),
  ZOOKEEPER_3(3),
  CONSUL(1),
  CONSUL_3(3);

  /** The TTL of renewed leases: the least that the store timeout allows, and a little. */
  static final Duration TTL = Duration.ofSeconds(4);

  /** The TTL of fixed leases. */
  static final Duration FIXED_TTL = Duration.ofSeconds(2);

  static final Duration STORE_TIMEOUT = Duration.ofSeconds(1);

  /** The session timeout that ZooKeeper's clients ask for, of eight ticks. */
  static final Duration ZOOKEEPER_SESSION = Duration.ofSeconds(8);

  /** The time for the workers' last turn, and for a busy machine. */
  private static final Duration SLACK = Duration.ofSeconds(5);

  private final int servers;

  StoreKind(int servers) {
    this.servers = servers;
  }

  /** Returns its name on the command line. */
  String option() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** Returns the store of that name, or all of them for {@code all}. */
  static List<StoreKind> byOption(String option) {
    List<StoreKind> found = Arrays.stream(values())
        .filter(store -> option.equals("all") || store.option().equals(option))
        .toList();
    if (found.isEmpty()) {
      throw new IllegalArgumentException("no such store: " + option + "; there are all, "
          + String.join(", ", Arrays.stream(values()).map(StoreKind::option).toList()));
    }
    return found;
  }

  int servers() {
    return servers;
  }

  /**
   * Returns the time by which a timed wait may exceed its limit (L-6.2): two store timeouts, and
   * 1.5 s for a busy machine. On Redis, the second that Jedis may take to open a connection must
   * fit into the latter.
   */
  static Duration overrunMax() {
    return STORE_TIMEOUT.multipliedBy(2).plusMillis(1_500);
  }

  /**
   * Returns the longest that a worker may wait for a name after the last fault, by the store's
   * page.
   */
  Duration recoveryMax() {
    return switch (this) {
      // The TTL, 4 s for a waiter that died, 8 s for one that was handed the lock and died.
      case POSTGRES, POSTGRES_2, MYSQL, MYSQL_2, MARIADB ->
        TTL.plusSeconds(4 + 8).plus(SLACK);
      // The TTL, 4.5 s for a waiter that died, 3 s for one that was handed the lock and died.
      case REDIS, REDIS_SENTINEL, REDIS_CLUSTER, REDIS_QUORUM ->
        TTL.plusMillis(4_500 + 3_000).plus(SLACK);
      // The crash bound of one and a half session timeouts, and 2 s to come back.
      case ZOOKEEPER, ZOOKEEPER_3 ->
        ZOOKEEPER_SESSION.multipliedBy(3).dividedBy(2).plusSeconds(2).plus(SLACK);
      // Sessions have 10 s at least: three of those, and two more after a change of the leader.
      case CONSUL, CONSUL_3 -> Duration.ofSeconds(30 + 20).plus(SLACK);
    };
  }

  /** Whether its servers' clocks can be set: those of Consul ask the kernel itself. */
  boolean hasClocksToSet() {
    return this != CONSUL && this != CONSUL_3;
  }

  /** Whether leases end by the wall clock of a server. Sessions end by monotonic clocks. */
  boolean expiresByServerClock() {
    return hasClocksToSet() && this != ZOOKEEPER && this != ZOOKEEPER_3;
  }

  /** Whether its page says that a failover can lose what was confirmed. */
  boolean forgetsAtFailover() {
    return this == REDIS_SENTINEL || this == REDIS_CLUSTER;
  }

  /** Whether its servers have one address together, which a switchover moves. */
  boolean hasOneAddress() {
    return this == POSTGRES_2 || this == MYSQL_2;
  }

  boolean hasGuards() {
    return this != REDIS_QUORUM;
  }
}
