package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.util.List;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.util.Pool;

/**
 * Where the server is that takes writes of a key, as far as the user's client knows at the moment.
 *
 * <p>Threads: safe for all.
 */
interface Primaries {

  /**
   * The user's pool of connections to that server.
   *
   * @throws StoreException the client knows of none
   */
  Pool<Connection> of(String key) throws StoreException;

  /**
   * The pool that has taken the place of one that was closed.
   *
   * @throws StoreException none has
   */
  default Pool<Connection> insteadOf(Pool<Connection> closed, String key) throws StoreException {
    Pool<Connection> pool = of(key);
    if (pool == closed) {
      throw Failures.unconnected(new PoolClosedException());
    }
    return pool;
  }

  /**
   * The user's pools of connections to all servers that have keys.
   *
   * @param server by which to ask one
   * @throws StoreException it is not known which they are
   */
  default List<Pool<Connection>> all(Server server, Deadline deadline) throws StoreException {
    return List.of(of(""));
  }

  /** Keys with equal groups are on one server, as far as is known. No I/O. */
  default Object group(String key) {
    return this;
  }

  /** A server said that another one has this key now. */
  default void moved(String key, HostAndPort target) {}

  /**
   * The user's pool for a server that another one named.
   *
   * @throws StoreException the client knows of none
   */
  default Pool<Connection> at(HostAndPort target, Deadline deadline) throws StoreException {
    throw StoreException.refused(
        "The server sends us to " + target + ", as in a Cluster: use a client for a Cluster", null);
  }

  /** The server that has this key could not be reached. */
  default void failed(String key) {}

  /**
   * Makes sure that a script may use these keys together.
   *
   * @throws IllegalArgumentException it may not
   */
  default void checkTogether(String lock, List<String> keys) {}
}
