package io.holdfast.lock.redis.server;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.util.List;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.util.Pool;

/**
 * Finds the server that takes writes for a key, as far as the user's client knows at the moment.
 *
 * <p>Threads: safe for use by any number of threads.
 */
public interface Primaries extends AutoCloseable {

  /**
   * Returns the user's pool of connections to that server.
   *
   * @throws StoreException the client knows of no such server
   */
  Pool<Connection> of(String key) throws StoreException;

  /**
   * Returns the user's pools of connections to all servers that have keys.
   *
   * @throws StoreException it is not known which servers these are
   */
  default List<Pool<Connection>> all(Deadline deadline) throws StoreException {
    return List.of(of(""));
  }

  /**
   * Returns the group of a key: keys with equal groups are on one server, as far as is known. No
   * I/O.
   */
  default Object group(String key) {
    return this;
  }

  /**
   * Notes that a server said that another one has this key now.
   *
   * @throws StoreException the client has no pool for that server
   */
  default void moved(String key, HostAndPort target, Deadline deadline) throws StoreException {
    Pool<Connection> unused = at(target, deadline);
  }

  /**
   * Returns the user's pool for a server that another one named.
   *
   * @throws StoreException the client has none
   */
  default Pool<Connection> at(HostAndPort target, Deadline deadline) throws StoreException {
    throw StoreException.refused(
        "The server sends us to " + target + ", as in a Cluster: use a client for a Cluster", null);
  }

  /**
   * Notes that the server that has this key could not be reached, and waits for news of another one
   * until the deadline.
   */
  default void failed(String key, Deadline deadline) {}

  /**
   * Checks that a script may use these keys together.
   *
   * @throws IllegalArgumentException it may not
   */
  default void checkTogether(String lock, List<String> keys) {}

  /** Ends what goes on in the background. The user's client stays open. */
  @Override
  default void close() {}
}
