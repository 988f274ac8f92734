package io.holdfast.lock.torture;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClientBuilder;
import java.util.List;

/** A way to a store, for its locks and for what is written under their guard. */
interface Access extends AutoCloseable {

  /**
   * Opens one.
   *
   * @param servers where the servers really are, which they may tell their clients
   * @param ways how to get to each of them
   * @param worker which of several this is; where each has a server of its own, it chooses that
   */
  static Access open(StoreKind store, List<Address> servers, List<Address> ways, int worker) {
    return switch (store) {
      case POSTGRES, POSTGRES_2, MYSQL, MYSQL_2, MARIADB -> new SqlAccess(store, ways.get(0));
      case REDIS -> RedisAccess.one(ways.get(0));
      case REDIS_SENTINEL -> RedisAccess.sentinel(servers, ways);
      case REDIS_CLUSTER -> RedisAccess.cluster(servers, ways);
      case REDIS_QUORUM -> new QuorumAccess(ways);
      case ZOOKEEPER, ZOOKEEPER_3 -> new ZooKeeperAccess(ways);
      case CONSUL, CONSUL_3 -> new ConsulAccess(ways.get(worker % ways.size()));
    };
  }

  LockClientBuilder<?> newClient();

  /** Gets the logs of these names ready to be written to. */
  default void prepare(List<String> names) throws Exception {}

  /**
   * Appends to the log of the lease's name, if the lease stands at the store.
   *
   * @throws io.holdfast.lock.LockLostException it does not; nothing was written
   * @throws Exception as the store's page says, it is not known whether that was written, or else
   *     something that no page speaks of
   */
  default void write(Lease lease, String entry) throws Exception {
    throw new UnsupportedOperationException();
  }

  /** Whether the page says of this failure of a write that it may have been made. */
  default boolean leavesOpen(Exception failure) {
    return false;
  }

  /** Returns what was written to a log, in the store's order. */
  default List<String> written(String name) throws Exception {
    return List.of();
  }

  /**
   * The locks that are still held or waited for and should not be in the end.
   *
   * @param namePrefix what the names begin with
   */
  default List<String> leftovers(String namePrefix) throws Exception {
    return List.of();
  }

  @Override
  void close();
}
