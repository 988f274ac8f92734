package io.holdfast.lock.redis.store;

import io.holdfast.lock.redis.server.OwnConnection;
import io.holdfast.lock.redis.server.Primaries;
import io.holdfast.lock.redis.server.Wire;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.Connection;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.util.Pool;

/**
 * The receiver of the messages that a lock was handed over to one of this client's waiters. It uses
 * one channel, one connection and one thread, as long as there are waiters and a little longer. A
 * lost message does no harm, since waiters also poll. Each time a subscription begins or ends, all
 * waiters poll at once, since messages may have been missed.
 *
 * <p>Threads: safe for use by any number of threads. The monitor guards whether the thread runs;
 * nothing blocks while it is held.
 */
final class Inbox implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(Inbox.class);

  /** The least time after which a waiter polls; each poll keeps its place in line alive. */
  static final Duration RECHECK_AFTER_MIN = Duration.ofMillis(1_500);

  private static final Duration RECHECK_AFTER_PER_WAITER = Duration.ofMillis(20);
  private static final Duration RECHECK_AFTER_PER_UNTOLD_WAITER = Duration.ofMillis(5);

  /** The time for which a connection stays open though nobody waits. */
  private static final Duration UNUSED_MAX = Duration.ofMinutes(1);

  private static final Duration ASK_EVERY = Duration.ofSeconds(4);
  private static final Duration UNANSWERED_MIN = Duration.ofSeconds(6);
  private static final long PAUSE_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(50);
  private static final long PAUSE_NANOS_MAX = TimeUnit.SECONDS.toNanos(2);

  private final Primaries primaries;
  private final TimeSource time;
  private final ThreadFactory threads;

  /** The time without an answer to a subscription after which the connection is dead. */
  private final long unansweredNanosMax;

  final String channel;
  private final Map<String, QueueTicket> waiting = new ConcurrentHashMap<>();

  private @Nullable Thread thread; // under this
  private volatile boolean closed; // changed under this
  private volatile @Nullable Subscription subscription;

  Inbox(
      Primaries primaries,
      TimeSource time,
      Duration storeTimeout,
      String prefix,
      ThreadFactory threads) {
    this.primaries = primaries;
    this.time = time;
    this.unansweredNanosMax =
        Collections.max(List.of(UNANSWERED_MIN, storeTimeout)).toNanos();
    this.threads = threads;
    this.channel = prefix + ":inbox:" + HexFormat.of().toHexDigits(new SecureRandom().nextLong());
  }

  /** Registers a ticket for messages about its owner id. */
  void expect(String ownerId, QueueTicket ticket) {
    waiting.put(ownerId, ticket);
  }

  void forget(String ownerId) {
    waiting.remove(ownerId);
  }

  /**
   * Returns the time after which a waiter polls if no message comes. Together, the waiters of a
   * client poll at most 50 times a second; 200 times while no message can come.
   */
  Duration recheckAfter() {
    Subscription current = subscription;
    boolean untold = current == null || !current.subscribed;
    Duration each = untold ? RECHECK_AFTER_PER_UNTOLD_WAITER : RECHECK_AFTER_PER_WAITER;
    return Collections.max(List.of(RECHECK_AFTER_MIN, each.multipliedBy(waiting.size())));
  }

  /**
   * Makes sure that the thread runs, and asks the server for a sign of life if it is time to.
   * Called at each poll of a waiter.
   *
   * @throws StoreException there is no thread; the waiter has a place in line
   */
  void listen() throws StoreException {
    synchronized (this) {
      if (thread == null && !closed) {
        try {
          Thread started = threads.newThread(this::run);
          started.start();
          // Recorded last: after a failure to start, the next waiter tries again.
          thread = started;
        } catch (OutOfMemoryError e) {
          throw StoreException.unanswered("There is no thread to hear of a hand-over on", e);
        }
      }
    }
    Subscription current = subscription;
    if (current != null) {
      current.askNowAndThen();
    }
  }

  private void run() {
    long pauseNanos = PAUSE_NANOS_MIN;
    try {
      while (!endIfUnused()) {
        long beganNanos = time.nanos();
        try {
          subscribe();
        } catch (StoreException | JedisConnectionException e) {
          log.debug("The subscription to {} ended", channel, e);
        } catch (RuntimeException e) {
          log.warn("The subscription to {} ended", channel, e);
        }
        if (endIfUnused()) {
          return;
        }
        boolean lasted = time.nanos() - beganNanos > PAUSE_NANOS_MAX;
        pauseNanos = lasted ? PAUSE_NANOS_MIN : Math.min(PAUSE_NANOS_MAX, 2 * pauseNanos);
        LockSupport.parkNanos(this, pauseNanos);
      }
    } finally {
      // Also after an Error, so that the next waiter starts another thread.
      synchronized (this) {
        if (thread == Thread.currentThread()) {
          thread = null;
        }
      }
    }
  }

  /** Ends the thread if nobody waits or this is closed; the next waiter then starts another one. */
  private synchronized boolean endIfUnused() {
    if (closed || waiting.isEmpty()) {
      thread = null;
      return true;
    }
    return false;
  }

  private void subscribe() throws StoreException {
    Pool<Connection> pool = primaries.of(channel);
    Connection connection = OwnConnection.open(pool);
    try {
      Subscription next = new Subscription(pool, connection);
      subscription = next;
      if (!closed) {
        next.proceed(connection, channel);
      }
    } finally {
      subscription = null;
      Wire.closeQuietly(connection);
      haveAllPoll();
    }
  }

  private void haveAllPoll() {
    waiting.values().forEach(ticket -> ticket.hear(null));
  }

  @Override
  public void close() {
    synchronized (this) {
      closed = true;
      LockSupport.unpark(thread);
    }
    Subscription current = subscription;
    if (current != null) {
      Wire.closeQuietly(current.connection);
    }
  }

  /** A subscription to the channel, on a connection of its own. */
  private final class Subscription extends JedisPubSub {
    private final Pool<Connection> pool;
    private final Connection connection;
    private final long openedNanos = time.nanos();
    private final ReentrantLock asking = new ReentrantLock();

    private long askedNanos = openedNanos; // under asking

    private volatile boolean answered;
    private volatile boolean subscribed;

    Subscription(Pool<Connection> pool, Connection connection) {
      this.pool = pool;
      this.connection = connection;
    }

    @Override
    public void onSubscribe(String toChannel, int channels) {
      answered = true;
      if (!subscribed) {
        // Jedis waits without limit on a subscribed connection. While there are waiters, the server
        // answers now and then.
        connection.setSoTimeout((int) UNUSED_MAX.toMillis());
        subscribed = true;
        haveAllPoll();
      }
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
     * Asks for a sign of life if it is time to; or ends the subscription, if the server does not
     * answer, if another server is the primary by now, or if the connection is so old that its
     * address may lead elsewhere.
     *
     * <p>The question is to subscribe once more, which changes nothing. Jedis' ping is not used: an
     * answer that comes before Jedis has noted that it expects one ends the subscription.
     */
    void askNowAndThen() {
      if (!asking.tryLock()) {
        return;
      }
      try {
        long now = time.nanos();
        if (!answered) {
          if (now - askedNanos > unansweredNanosMax) {
            Wire.closeQuietly(connection);
          }
        } else if (now - askedNanos >= ASK_EVERY.toNanos()) {
          askedNanos = now;
          boolean isOld = now - openedNanos > OwnConnection.AGE_MAX.toNanos();
          if (isOld || primaries.of(channel) != pool) {
            Wire.closeQuietly(connection);
          } else {
            answered = false;
            subscribe(channel);
          }
        }
      } catch (StoreException | RuntimeException e) {
        Wire.closeQuietly(connection);
      } finally {
        asking.unlock();
      }
    }
  }
}
