package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.util.Pool;

/**
 * A connection beside the user's pool, with the pool's settings: leases are renewed and released
 * even when the application has exhausted the pool. Opened when first used, and again when it
 * broke.
 *
 * <p>Threads: any; they take turns.
 */
final class OwnConnection implements AutoCloseable {
  private final Pool<Connection> pool;
  private final ReentrantLock turn = new ReentrantLock();
  private @Nullable Connection connection; // under turn
  private volatile boolean closed;

  OwnConnection(Pool<Connection> pool) {
    this.pool = pool;
  }

  /** What to do with a connection. */
  @FunctionalInterface
  interface Use<T> {
    /** Throws {@link JedisConnectionException} if the connection broke. */
    T with(Connection connection) throws StoreException;
  }

  /** A new connection beside the pool, whose user closes it. */
  static Connection open(Pool<Connection> pool) throws StoreException {
    try {
      return pool.getFactory().makeObject().getObject();
    } catch (Exception e) {
      throw Failures.unconnected(e);
    }
  }

  /**
   * Uses the connection. One that broke while nobody used it shows only now: then once more on a
   * new one.
   *
   * @throws StoreException there was no connection, or the use threw it
   * @throws JedisConnectionException it broke
   */
  <T> T use(Deadline deadline, Use<T> use) throws StoreException {
    if (!deadline.<Boolean, RuntimeException>awaitUninterruptibly(
        left -> turn.tryLock(left, TimeUnit.NANOSECONDS))) {
      throw StoreException.refused(
          "The client's own connection was not free within " + deadline.whole(), null);
    }
    try {
      Connection used = connection;
      if (used != null) {
        try {
          return use.with(used);
        } catch (JedisConnectionException e) {
          discard();
          if (deadline.isOver() || Failures.isTimeout(e)) {
            throw e;
          }
        }
      }
      if (closed) {
        throw StoreException.refused("The client was closed", null);
      }
      Connection fresh = open(pool);
      connection = fresh;
      try {
        return use.with(fresh);
      } catch (JedisConnectionException e) {
        discard();
        throw e;
      }
    } finally {
      if (closed) {
        discard();
      }
      turn.unlock();
    }
  }

  private void discard() {
    Connection old = connection;
    connection = null;
    if (old != null) {
      closeQuietly(old);
    }
  }

  static void closeQuietly(Connection connection) {
    try {
      connection.forceDisconnect();
    } catch (Exception e) {
      // It is gone either way.
    }
  }

  /** Closes the connection now, or when whoever uses it is done. */
  @Override
  public void close() {
    closed = true;
    if (turn.tryLock()) {
      try {
        discard();
      } finally {
        turn.unlock();
      }
    }
  }
}
