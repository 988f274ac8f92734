package io.holdfast.lock.torture;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClientBuilder;
import java.util.List;

/** A connection to a store: its lock clients, and logs of guarded writes. */
interface Access extends AutoCloseable {

  /**
   * Opens access to a store.
   *
   * @param servers the servers' own addresses, which they may tell their clients
   * @param ways the addresses by which this client reaches each of them
   * @param worker the number that chooses the server where each worker has its own
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

  /** Makes what the logs of these names need. */
  default void prepare(List<String> names) throws Exception {}

  /**
   * Appends to the log of the lease's name, if the lease is valid at the store.
   *
   * @throws io.holdfast.lock.LockLostException it does not; nothing was written
   * @throws Exception any other failure; {@link #leavesOpen} tells what it means
   */
  default void write(Lease lease, String entry) throws Exception {
    throw new UnsupportedOperationException();
  }

  /** Whether the store's page says of this failure that the write may have been made. */
  default boolean leavesOpen(Exception failure) {
    return false;
  }

  /** Returns what was written to a log, in the store's order. */
  default List<String> written(String name) throws Exception {
    return List.of();
  }

  /**
   * Returns what is left of locks and waiters, when all clients are closed.
   *
   * @param namePrefix the beginning of the locks' names
   */
  default List<String> leftovers(String namePrefix) throws Exception {
    return List.of();
  }

  @Override
  void close();
}
