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
 * even when the application has exhausted the pool, and what a connection of the pool said is
 * checked. Opened when first used, and again when it broke, led to a server that is the primary no
 * more, or is old: no pool retires it, and where it leads may be not where the address leads by
 * now.
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
   * Uses the connection, opened within {@link #AGE_MAX}.
   *
   * @throws StoreException there was no connection, or the use threw it
   * @throws PoolClosedException the pool was closed
   * @throws JedisDataException the server answered an error
   * @throws JedisConnectionException it broke
   */
  <T> T use(Deadline deadline, Wire.Use<T> use) throws StoreException, PoolClosedException {
    return useOpenedSince(time.nanos() - AGE_MAX.toNanos(), deadline, use);
  }

  /** The same, opened after this was called: it leads where the address leads now. */
  <T> T useNew(Deadline deadline, Wire.Use<T> use) throws StoreException, PoolClosedException {
    return useOpenedSince(time.nanos(), deadline, use);
  }

  /** Whoever waited for its turn meanwhile may use what another has opened. */
  private <T> T useOpenedSince(long sinceNanos, Deadline deadline, Wire.Use<T> use)
      throws StoreException, PoolClosedException {
    if (!deadline.<Boolean, RuntimeException>awaitUninterruptibly(
        left -> turn.tryLock(left, TimeUnit.NANOSECONDS))) {
      throw StoreException.refused(
          "The client's own connection was not free within " + deadline.whole(), null);
    }
    try {
      return useAndJudge(openedSince(sinceNanos), use);
    } finally {
      turn.unlock();
      // After the turn: whoever closes this either finds it free, or is seen here.
      if (closed) {
        close();
      }
    }
  }

  private Connection openedSince(long sinceNanos) throws StoreException, PoolClosedException {
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

  private <T> T useAndJudge(Connection used, Wire.Use<T> use) throws StoreException {
    try {
      return use.with(used);
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
