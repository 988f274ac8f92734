package io.holdfast.lock.redis.server;

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
 * A connection outside of the user's pool, with the pool's settings. With it, leases are renewed
 * and released even if the application has exhausted the pool, and doubtful answers are checked. It
 * is opened at the first use, and replaced once it is broken or old: no pool retires it, and its
 * address may lead to another server by now.
 *
 * <p>Threads: any; they use it one at a time.
 */
public final class OwnConnection implements AutoCloseable {
  /** The greatest age of the connection when it is used. */
  public static final Duration AGE_MAX = Duration.ofMinutes(1);

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

  /**
   * Opens a new connection outside of the pool, which the caller closes.
   *
   * @throws JedisConnectionException the server could not be reached
   */
  public static Connection open(Pool<Connection> pool) throws StoreException {
    try {
      return pool.getFactory().makeObject().getObject();
    } catch (JedisConnectionException e) {
      throw e;
    } catch (Exception e) {
      throw Failures.unconnected(e);
    }
  }

  /**
   * Uses the connection, which is at most {@link #AGE_MAX} old.
   *
   * @throws StoreException there was no connection, or the use threw it
   * @throws PoolClosedException the pool was closed
   * @throws JedisDataException the server answered with an error
   * @throws JedisConnectionException the connection broke, or the server could not be reached
   */
  <T> T use(Deadline deadline, Wire.Use<T> use) throws StoreException, PoolClosedException {
    return useOpenedSince(time.nanos() - AGE_MAX.toNanos(), deadline, use);
  }

  /**
   * Uses a connection that was opened after this method was called, and so leads where the address
   * leads now.
   */
  <T> T useNew(Deadline deadline, Wire.Use<T> use) throws StoreException, PoolClosedException {
    return useOpenedSince(time.nanos(), deadline, use);
  }

  /**
   * Uses a connection that was opened after this time, even if another thread opened it while this
   * one waited for its turn.
   */
  private <T> T useOpenedSince(long sinceNanos, Deadline deadline, Wire.Use<T> use)
      throws StoreException, PoolClosedException {
    if (!deadline.<Boolean, RuntimeException>awaitUninterruptibly(
        left -> turn.tryLock(left, TimeUnit.NANOSECONDS))) {
      throw StoreException.refused(
          "The client's own connection was not free within " + deadline.whole(), null);
    }
    try {
      return Wire.use(ensureOpenedSince(sinceNanos), use);
    } finally {
      turn.unlock();
      // Checked after the turn: close() either finds the connection free, or is noticed here.
      if (closed) {
        close();
      }
    }
  }

  private Connection ensureOpenedSince(long sinceNanos) throws StoreException, PoolClosedException {
    Connection found = connection;
    if (found != null && !found.isBroken() && openedNanos - sinceNanos > 0) {
      return found;
    }
    discard();
    if (closed) {
      if (pool.isClosed()) {
        throw new PoolClosedException();
      }
      throw StoreException.refused("The client was closed", null);
    }
    long beganNanos = time.nanos();
    Connection opened = open(pool);
    connection = opened;
    openedNanos = beganNanos;
    return opened;
  }

  private void discard() {
    Connection old = connection;
    connection = null;
    if (old != null) {
      Wire.closeQuietly(old);
    }
  }

  /** Closes the connection now, or after its current use. */
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
