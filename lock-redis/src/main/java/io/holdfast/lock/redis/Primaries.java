package io.holdfast.lock.redis;

import io.holdfast.lock.spi.StoreException;
import redis.clients.jedis.Connection;
import redis.clients.jedis.util.Pool;

/**
 * Where the server is that takes writes of a key, as far as the user's client knows at the moment.
 *
 * <p>Threads: safe for all. No I/O, unless said otherwise.
 */
interface Primaries {

  /**
   * The user's pool of connections to that server. May do I/O the first time a key's server is
   * asked for.
   *
   * @throws StoreException the client knows of none
   */
  Pool<Connection> of(String key) throws StoreException;
}
