package io.holdfast.lock.redis;

import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.Connection;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.Pool;

/**
 * Hears which of this client's waiters has been given its lock: one channel, one connection, one
 * thread, while somebody waits and a little longer. Nothing is lost with a message: whenever this
 * begins to hear, every waiter looks by itself, since it may have missed something.
 *
 * <p>Threads: safe for all. One mutex guards whether the thread runs; nothing blocks under it.
 */
final class Inbox implements AutoCloseable {
  private static final Logger logger = LoggerFactory.getLogger(Inbox.class);

  /** After so much silence the connection counts as dead; without waiters it is let go. */
  private static final int SILENCE_MAX_MILLIS = 10_000;

  private static final long PING_EVERY_NANOS = TimeUnit.SECONDS.toNanos(4);
  private static final long PAUSE_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(50);
  private static final long PAUSE_NANOS_MAX = TimeUnit.SECONDS.toNanos(2);

  private final Primaries primaries;
  private final TimeSource time;
  private final String threadName;
  private final String channel;
  private final Map<String, QueueTicket> waiting = new ConcurrentHashMap<>();

  private final ReentrantLock mutex = new ReentrantLock();
  private @Nullable Thread thread; // under mutex
  private boolean closed; // under mutex
  private volatile @Nullable Subscription subscription;

  Inbox(Primaries primaries, TimeSource time, String prefix, String threadName) {
    this.primaries = primaries;
    this.time = time;
    this.threadName = threadName;
    byte[] id = new byte[8];
    new SecureRandom().nextBytes(id);
    this.channel = prefix + ":inbox:" + HexFormat.of().formatHex(id);
  }

  String channel() {
    return channel;
  }

  /** Has the ticket told when its owner id is called. */
  void expect(String ownerId, QueueTicket ticket) {
    waiting.put(ownerId, ticket);
  }

  void forget(String ownerId) {
    waiting.remove(ownerId);
  }

  /** Somebody waits: sees to it that the thread runs, and that the connection is not silent. */
  void listen() {
    mutex.lock();
    try {
      if (thread == null && !closed) {
        Thread started = new Thread(this::run, threadName);
        started.setDaemon(true);
        // First: a thread that can't be started must not keep the next one from being.
        started.start();
        thread = started;
      }
    } finally {
      mutex.unlock();
    }
    Subscription current = subscription;
    if (current != null) {
      current.pingNowAndThen();
    }
  }

  private void run() {
    try {
      hearWhileSomebodyWaits();
    } finally {
      // Also after an Error: the next who waits starts another thread.
      ended();
    }
  }

  private void hearWhileSomebodyWaits() {
    long pauseNanos = PAUSE_NANOS_MIN;
    while (!isOver()) {
      long beganNanos = time.nanos();
      try {
        hear();
      } catch (StoreException | JedisException e) {
        logger.debug("The subscription to {} ended", channel, e);
      } catch (RuntimeException e) {
        logger.warn("The subscription to {} ended", channel, e);
      } finally {
        subscription = null;
      }
      if (isOver()) {
        return;
      }
      boolean lasted = time.nanos() - beganNanos > PAUSE_NANOS_MAX;
      pauseNanos = lasted ? PAUSE_NANOS_MIN : Math.min(PAUSE_NANOS_MAX, 2 * pauseNanos);
      LockSupport.parkNanos(this, pauseNanos);
    }
  }

  /** Whether to end: then the next who waits starts another thread. */
  private boolean isOver() {
    mutex.lock();
    try {
      if (closed || waiting.isEmpty()) {
        thread = null;
        return true;
      }
      return false;
    } finally {
      mutex.unlock();
    }
  }

  private void ended() {
    mutex.lock();
    try {
      if (thread == Thread.currentThread()) {
        thread = null;
      }
    } finally {
      mutex.unlock();
    }
  }

  private boolean isClosed() {
    mutex.lock();
    try {
      return closed;
    } finally {
      mutex.unlock();
    }
  }

  private void hear() throws StoreException {
    Pool<Connection> pool = primaries.of(channel);
    Connection connection = OwnConnection.open(pool);
    try {
      Subscription next = new Subscription(pool, connection);
      subscription = next;
      if (!isClosed()) {
        next.proceed(connection, channel);
      }
    } finally {
      OwnConnection.closeQuietly(connection);
    }
  }

  @Override
  public void close() {
    mutex.lock();
    try {
      closed = true;
      LockSupport.unpark(thread);
    } finally {
      mutex.unlock();
    }
    Subscription current = subscription;
    if (current != null) {
      OwnConnection.closeQuietly(current.connection);
    }
  }

  /** One connection's time as the subscribed one. */
  private final class Subscription extends JedisPubSub {
    private final Pool<Connection> pool;
    private final Connection connection;
    private final long openedNanos = time.nanos();
    private final ReentrantLock pinging = new ReentrantLock();
    private volatile boolean subscribed;
    private long pingedNanos = time.nanos(); // under pinging

    Subscription(Pool<Connection> pool, Connection connection) {
      this.pool = pool;
      this.connection = connection;
    }

    @Override
    public void onSubscribe(String toChannel, int channels) {
      // Jedis waits for ever on a subscribed connection; a dead one must show.
      connection.setSoTimeout(SILENCE_MAX_MILLIS);
      subscribed = true;
      waiting.values().forEach(ticket -> ticket.hear(null));
    }

    @Override
    public void onMessage(String fromChannel, String message) {
      HandedOver news = HandedOver.of(message);
      QueueTicket ticket = news == null ? null : waiting.get(news.ownerId());
      if (ticket != null) {
        ticket.hear(news);
      }
    }

    /**
     * Also leaves a server that is the primary no more, and now and then any: it may be another.
     */
    void pingNowAndThen() {
      if (!pinging.tryLock()) {
        return;
      }
      try {
        long now = time.nanos();
        if (!subscribed) {
          closeIfSilent(now);
          return;
        }
        if (now - pingedNanos < PING_EVERY_NANOS) {
          return;
        }
        pingedNanos = now;
        boolean isOld = now - openedNanos > OwnConnection.AGE_MAX.toNanos();
        if (isOld || primaries.of(channel) != pool) {
          OwnConnection.closeQuietly(connection);
          return;
        }
        ping();
      } catch (StoreException | RuntimeException e) {
        OwnConnection.closeQuietly(connection);
      } finally {
        pinging.unlock();
      }
    }

    /** Jedis waits for ever for the answer to the subscription, too. */
    private void closeIfSilent(long now) {
      if (now - openedNanos > TimeUnit.MILLISECONDS.toNanos(SILENCE_MAX_MILLIS)) {
        OwnConnection.closeQuietly(connection);
      }
    }
  }
}
