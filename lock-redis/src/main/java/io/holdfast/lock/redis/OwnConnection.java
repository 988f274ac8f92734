package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.Pool;

/**
 * A connection beside the user's pool, with the pool's settings: leases are renewed and released
 * even when the application has exhausted the pool. Opened when first used, and again when it
 * broke, led to a server that is the primary no more, or is old: no pool retires it, and where it
 * leads may be not where the address leads by now.
 *
 * <p>Threads: any; they take turns.
 */
final class OwnConnection implements AutoCloseable {
  /** How old a connection of our own may be when it is used. */
  static final Duration AGE_MAX = Duration.ofMinutes(1);

  private final Pool<Connection> pool;
  private final TimeSource time;
  private final ReentrantLock turn = new ReentrantLock();
  private @Nullable Connection connection; // under turn
  private long openedNanos; // under turn
  private volatile boolean closed;

  OwnConnection(Pool<Connection> pool, TimeSource time) {
    this.pool = pool;
    this.time = time;
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
   * Uses the connection. One that broke while nobody used it, or whose server was demoted, shows
   * only now: then once more on a new one.
   *
   * @throws StoreException there was no connection, or the use threw it
   * @throws JedisDataException the server answered an error
   * @throws JedisConnectionException it broke
   */
  <T> T use(Deadline deadline, Wire.Use<T> use) throws StoreException {
    return inTurn(deadline, () -> useAnyOf(deadline, use));
  }

  /** The same, on a connection that is opened for it: it leads where the address leads now. */
  <T> T useNew(Deadline deadline, Wire.Use<T> use) throws StoreException {
    return inTurn(deadline, () -> useAnother(use));
  }

  private interface Turn<T> {
    T take() throws StoreException;
  }

  private <T> T inTurn(Deadline deadline, Turn<T> work) throws StoreException {
    if (!deadline.<Boolean, RuntimeException>awaitUninterruptibly(
        left -> turn.tryLock(left, TimeUnit.NANOSECONDS))) {
      throw StoreException.refused(
          "The client's own connection was not free within " + deadline.whole(), null);
    }
    try {
      return work.take();
    } finally {
      if (closed) {
        discard();
      }
      turn.unlock();
    }
  }

  private <T> T useAnyOf(Deadline deadline, Wire.Use<T> use) throws StoreException {
    Connection used = connection;
    if (used == null || used.isBroken() || time.nanos() - openedNanos > AGE_MAX.toNanos()) {
      return useAnother(use);
    }
    try {
      return use.with(used);
    } catch (JedisConnectionException e) {
      if (deadline.isOver() || Failures.isTimeout(e)) {
        discard();
        throw e;
      }
    } catch (JedisDataException e) {
      if (!Failures.isOfAFormerPrimary(e)) {
        throw e;
      }
    }
    return useAnother(use);
  }

  private <T> T useAnother(Wire.Use<T> use) throws StoreException {
    discard();
    if (closed) {
      throw StoreException.refused("The client was closed", null);
    }
    Connection another = open(pool);
    connection = another;
    openedNanos = time.nanos();
    try {
      return use.with(another);
    } catch (JedisConnectionException e) {
      discard();
      throw e;
    } catch (JedisDataException e) {
      if (Failures.isOfAFormerPrimary(e)) {
        discard();
      }
      throw e;
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
