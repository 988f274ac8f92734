package io.holdfast.lock.redis.server;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.ReleaseOutcome;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.Pool;

/**
 * Runs scripts on the servers that have their keys: one server, or all primaries of a Cluster. Each
 * runs within the store timeout, on a connection of the user's pool or, where its {@link Mode} says
 * so, on one of our own.
 *
 * <p>Threads: safe for use by any number of threads.
 */
public final class Server implements AutoCloseable {
  /**
   * The most threads that give back broken connections: as many as a pool of Jedis has connections
   * by default.
   */
  private static final int RETURN_THREADS_MAX = 8;

  /** The most calls that renew in one round trip. */
  public static final int RENEWED_AT_ONCE_MAX = 1_000;

  final Primaries primaries;
  private final Duration storeTimeout;
  private final String threadName;
  private final Map<Pool<Connection>, BesidePool> beside = new ConcurrentHashMap<>();
  private final ThreadPoolExecutor returns;
  private volatile boolean closed;

  /**
   * Makes the servers of one client; nothing is sent yet.
   *
   * @param threadName the beginning of the names of all threads
   */
  public Server(Primaries primaries, Duration storeTimeout, String threadName) {
    this.primaries = primaries;
    this.storeTimeout = storeTimeout;
    this.threadName = threadName;
    this.returns = Daemons.pool(threadName + "-return", RETURN_THREADS_MAX);
  }

  /**
   * The answer to a call.
   *
   * @param repeated whether the call was sent again although the first one may have been carried
   *     out
   */
  public record Answer(@Nullable Object reply, boolean repeated) {
    /**
     * Whether the script did something: it answered 1, and not 0.
     *
     * @throws StoreException the reply has another form
     */
    public boolean isDone() throws StoreException {
      if (!Reply.isOne(reply) && !Reply.isZero(reply)) {
        throw Reply.noAnswer(reply);
      }
      return Reply.isOne(reply);
    }

    /**
     * Returns the time left of a grant; empty if it does not have the lock.
     *
     * @throws StoreException the reply has another form
     */
    public Optional<Duration> left() throws StoreException {
      if (reply == null) {
        return Optional.empty();
      } else if (reply instanceof Long) {
        return Optional.of(Reply.millis(reply));
      }
      throw Reply.noAnswer(reply);
    }

    /**
     * Returns the outcome of the release that this answers. Of two requests the first may have got
     * through, and then the second finds nothing.
     *
     * @throws StoreException the reply has another form
     */
    public ReleaseOutcome released() throws StoreException {
      ReleaseOutcome absent =
          repeated ? ReleaseOutcome.RELEASED_OR_LOST : ReleaseOutcome.ALREADY_LOST;
      return isDone() ? ReleaseOutcome.RELEASED : absent;
    }

    /**
     * Whether the forced release that this answers ended the grant.
     *
     * @throws StoreException that is not known: the reply has another form, or the first of two
     *     requests may have got through
     */
    public boolean forceReleased() throws StoreException {
      boolean freed = isDone();
      if (!freed && repeated) {
        throw StoreException.unanswered(
            "The connection broke, and now the grant does not have the lock: it may have been freed",
            null);
      }
      return freed;
    }
  }

  /** The way in which a call is sent. */
  public enum Mode {
    /** Waits for a connection of the pool, and is not sent again if that breaks. */
    ONCE,

    /**
     * Waits for a connection of the pool, so as not to take precedence over the application. This
     * and all that follow are sent again on another connection if the first one is broken or
     * silent.
     */
    ASK,

    /**
     * Uses a connection of our own if the pool has none to give at once: others may be waiting for
     * what this call frees, and its time must go to the server, not to the pool.
     */
    URGENT,

    /**
     * As {@link #URGENT}, and an answer that there is no such grant is checked on a new connection.
     */
    ON_GRANT,

    /**
     * As {@link #ON_GRANT}, and uses a connection of our own if the pool tests what it lends: such
     * a pool may test one dead connection after the other before it lends a live one. Its
     * connections of our own are for renewals alone, so that they wait for nothing else.
     */
    RENEWAL;

    boolean mayRepeat() {
      return this != ONCE;
    }

    boolean waitsForPool() {
      return this == ONCE || this == ASK;
    }

    boolean isAboutGrants() {
      return this == ON_GRANT || this == RENEWAL;
    }
  }

  /**
   * Returns the deadline of one call to the store, in real time, whatever clock the engine uses,
   * since sockets use real time.
   */
  public static Deadline deadlineAfter(Duration storeTimeout) {
    return Deadline.after(storeTimeout, TimeSource.system());
  }

  /** Pauses for a time, but not past the deadline; an interrupt does not end the pause. */
  public static void pause(Duration pause, Deadline deadline) {
    boolean unused = deadline
        .within(pause)
        .<Boolean, RuntimeException>awaitUninterruptibly(leftNanos -> {
          TimeUnit.NANOSECONDS.sleep(leftNanos);
          return true;
        });
  }

  /** Runs a script within the store timeout. */
  public Answer run(Call call, Mode mode) throws StoreException {
    return run(call, mode, deadlineAfter(storeTimeout));
  }

  /** Runs a script within the deadline of a longer operation. */
  Answer run(Call call, Mode mode, Deadline deadline) throws StoreException {
    return new Delivery(this, primaries, List.of(call), mode, deadline).deliverOnly();
  }

  /**
   * Runs scripts that renew grants of one group, up to 1,000 in a round trip, all within one store
   * timeout. A call whose slot has moved meanwhile is run again where it is now. If the server
   * fails or the time is over, the rest of the calls fail.
   *
   * @return for each call its reply, or the {@link StoreException} that it failed with
   */
  public List<Object> renew(List<Call> calls) {
    Deadline deadline = deadlineAfter(storeTimeout);
    List<Object> replies = new ArrayList<>(calls.size());
    try {
      while (replies.size() < calls.size()) {
        int from = replies.size();
        List<Call> part = calls.subList(from, Math.min(calls.size(), from + RENEWED_AT_ONCE_MAX));
        List<Object> answers =
            new Delivery(this, primaries, part, Mode.RENEWAL, deadline).deliver();
        for (int i = 0; i < part.size(); i++) {
          replies.add(
              answers.get(i) instanceof JedisDataException e
                  ? runElsewhere(part.get(i), deadline, e)
                  : answers.get(i));
        }
      }
    } catch (StoreException e) {
      replies.addAll(Collections.nCopies(calls.size() - replies.size(), e));
    }
    return replies;
  }

  /**
   * Runs a call again where the error sends it, as its slot is moving or has moved. Any other error
   * is the result. One call at a time. That is slow after a failover in a Cluster, when all slots
   * of the node have moved: calls that get no turn before the deadline fail, and are renewed in the
   * next round.
   */
  private Object runElsewhere(Call call, Deadline deadline, JedisDataException e) {
    try {
      Delivery delivery = new Delivery(this, primaries, List.of(call), Mode.RENEWAL, deadline);
      delivery.follow(e);
      Object reply = delivery.deliverOnly().reply();
      return reply == null ? Reply.noAnswer(null) : reply;
    } catch (StoreException failure) {
      return failure;
    }
  }

  static StoreException exhausted(
      Pool<Connection> pool, Deadline deadline, NoSuchElementException e) {
    return StoreException.refused(
        ("The client's pool gave no connection within %s: %s are in use. Make the pool larger, or"
                + " find out who keeps them")
            .formatted(deadline.whole(), pool.getNumActive()),
        e);
  }

  /** Borrows a connection; throws {@link NoSuchElementException} if the pool has none to give. */
  static Connection borrow(Pool<Connection> pool, Mode mode, Deadline deadline)
      throws StoreException, PoolClosedException {
    try {
      return deadline.awaitUninterruptibly(
          left -> borrow(pool, mode.waitsForPool() ? Duration.ofNanos(left) : Duration.ZERO));
    } catch (NoSuchElementException | PoolClosedException e) {
      throw e;
    } catch (Exception e) {
      throw Failures.unconnected(e);
    }
  }

  private static Connection borrow(Pool<Connection> pool, Duration wait) throws Exception {
    try {
      return pool.borrowObject(wait);
    } catch (IllegalStateException | InterruptedException e) {
      // A pool that is closed interrupts its waiters; that interrupt is not meant for our caller.
      if (pool.isClosed()) {
        throw new PoolClosedException();
      }
      throw e;
    }
  }

  /**
   * Gives a connection back. For a broken one, the pool opens another in its place, which can take
   * as long as the user's client allows; so that is done on a thread of ours.
   */
  void giveBack(Pool<Connection> pool, Connection connection) {
    if (!connection.isBroken()) {
      pool.returnResource(connection);
      return;
    }
    try {
      returns.execute(() -> giveBackBroken(pool, connection));
    } catch (RejectedExecutionException | OutOfMemoryError e) {
      // This server is closed, or there is no thread. A connection that is not given back would
      // count as in use for ever.
      giveBackBroken(pool, connection);
    }
  }

  private static void giveBackBroken(Pool<Connection> pool, Connection connection) {
    try {
      pool.returnBrokenResource(connection);
    } catch (JedisException e) {
      // The connection was removed from the pool, but none could be opened in its place.
    }
  }

  /** Runs a script on the server of this pool, whatever its key. */
  @Nullable
  Object run(Pool<Connection> pool, Call call, Deadline deadline) throws StoreException {
    return new Delivery(this, key -> pool, List.of(call), Mode.ASK, deadline)
        .deliverOnly()
        .reply();
  }

  /**
   * Runs scripts on the server of this pool, whatever their keys, in one round trip.
   *
   * @param calls not empty
   * @return for each call its reply, or the exception that it failed with: a
   *     {@link JedisDataException} or a {@link StoreException}
   */
  List<Object> runAll(Pool<Connection> pool, List<Call> calls, Deadline deadline)
      throws StoreException {
    return new Delivery(this, key -> pool, calls, Mode.ASK, deadline).deliver();
  }

  /**
   * Returns what is beside a pool for this mode. The first time for a pool, makes it, and closes
   * that of pools that were closed.
   */
  Beside beside(Pool<Connection> pool, Mode mode) {
    BesidePool found = beside.get(pool);
    return (found == null ? open(pool) : found).of(mode);
  }

  private BesidePool open(Pool<Connection> pool) {
    beside.forEach((other, its) -> {
      if (other.isClosed()) {
        its.close();
        beside.remove(other);
      }
    });
    BesidePool made = beside.computeIfAbsent(
        pool, key -> new BesidePool(open(key, "-hedge-renewal"), open(key, "-hedge")));
    if (closed) {
      made.close(); // close() may have run before this was added.
    }
    return made;
  }

  private Beside open(Pool<Connection> pool, String threadKind) {
    return new Beside(
        new OwnConnection(pool, TimeSource.system()),
        new Hedging(pool, storeTimeout, threadName + threadKind));
  }

  /** The connection and the copies that requests have beside the user's pool. */
  record Beside(OwnConnection own, Hedging hedging) {
    void close() {
      own.close();
      hedging.close();
    }
  }

  /** Those of one pool, with a set for renewals alone, so that they wait for no other request. */
  private record BesidePool(Beside renewals, Beside others) {
    Beside of(Mode mode) {
      return mode == Mode.RENEWAL ? renewals : others;
    }

    void close() {
      renewals.close();
      others.close();
    }
  }

  @Override
  public void close() {
    closed = true;
    beside.values().forEach(BesidePool::close);
    returns.shutdown(); // What is under way goes on.
  }
}
