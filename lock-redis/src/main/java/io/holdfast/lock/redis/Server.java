package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.Pool;

/**
 * Runs scripts on the server that has their keys, each within the store timeout, on a connection of
 * the user's pool or, if that has none, on one of our own.
 *
 * <p>Three things can mean that the address leads to another server by now: the connection broke,
 * the server takes no writes, or it answered that there is no such grant. Each is checked on a
 * connection of our own that is opened afterwards. If the answer there is another one, the pool's
 * idle connections are dropped. So a former primary that is still up can't end a lease, as long as
 * the address leads to the new one.
 *
 * <p>Threads: safe for use by any number of threads.
 */
final class Server implements AutoCloseable {
  /**
   * The time within which a call that may be repeated should be answered; if it is not, it is sent
   * again on a new connection. A connection that was idle can be dead without notice.
   */
  static final Duration ANSWER_IS_PROMPT = Duration.ofMillis(500);

  /**
   * The most threads that give back broken connections: as many as a pool of Jedis has connections
   * by default.
   */
  private static final int RETURN_THREADS_MAX = 8;

  private static final int VERSION_MIN = 7 << 16;
  static final String TOO_OLD = "A server is older than Redis 7.0, which is the oldest that is"
      + " supported: update it, or use Valkey";

  private final Primaries primaries;
  private final Duration storeTimeout;
  private final Map<Pool<Connection>, OwnConnection> own = new ConcurrentHashMap<>();
  private final ThreadPoolExecutor returns;
  private volatile boolean closed;

  Server(Primaries primaries, Duration storeTimeout, String threadName) {
    this.primaries = primaries;
    this.storeTimeout = storeTimeout;
    this.returns = Daemons.pool(threadName + "-return", RETURN_THREADS_MAX);
  }

  /**
   * The answer to a call.
   *
   * @param repeated whether the call was sent twice, so that the first one may have been carried
   *     out
   */
  record Answer(@Nullable Object reply, boolean repeated) {}

  /** The choices if the pool has no connection to give. */
  enum WithoutPool {
    /** Wait for one, and fail if none comes, so as not to take precedence over the application. */
    FAIL,
    /**
     * Use a connection of our own at once: others may be waiting for what this call frees, and its
     * time is needed for the server's answer.
     */
    USE_OWN
  }

  /**
   * Returns the deadline of one call to the store, in real time, whatever clock the engine uses,
   * since sockets use real time.
   */
  static Deadline deadlineAfter(Duration storeTimeout) {
    return Deadline.after(storeTimeout, TimeSource.system());
  }

  /** Whether the server is of a supported version; if not, {@link #TOO_OLD} says what to do. */
  boolean isRecent(String prefix) throws StoreException {
    Answer answer = run(new Call(Script.CHECK, prefix + ":{check}"), WithoutPool.FAIL);
    return answer.reply() instanceof Long version && version >= VERSION_MIN;
  }

  /**
   * Runs a script that may be repeated: if its connection turns out to be broken or silent, it is
   * sent again on another one.
   */
  Answer run(Call call, WithoutPool withoutPool) throws StoreException {
    return run(call, withoutPool, deadlineAfter(storeTimeout));
  }

  /** Runs a script that may be repeated, within the deadline of a longer operation. */
  Answer run(Call call, WithoutPool withoutPool, Deadline deadline) throws StoreException {
    return deliver(new Delivery(primaries, call, deadline, false), withoutPool, true);
  }

  /**
   * Runs a script about a grant, which may be repeated; an answer that there is no such grant is
   * checked.
   */
  Answer runOnGrant(Call call, WithoutPool withoutPool) throws StoreException {
    Deadline deadline = deadlineAfter(storeTimeout);
    return deliver(new Delivery(primaries, call, deadline, true), withoutPool, true);
  }

  /** Runs a script that must not be carried out twice. */
  @Nullable
  Object runOnce(Call call) throws StoreException {
    Deadline deadline = deadlineAfter(storeTimeout);
    return deliver(new Delivery(primaries, call, deadline, false), WithoutPool.FAIL, false)
        .reply();
  }

  private Answer deliver(Delivery delivery, WithoutPool withoutPool, boolean mayRepeat)
      throws StoreException {
    try {
      while (true) {
        try {
          return send(delivery, withoutPool, mayRepeat);
        } catch (JedisDataException e) {
          delivery.follow(e);
        } catch (PoolClosedException e) {
          delivery.leaveClosedPool();
        }
      }
    } catch (JedisConnectionException e) {
      primaries.failed(delivery.call().key(), delivery.deadline());
      throw Failures.unanswered(e);
    } catch (StoreException e) {
      throw delivery.failed(e);
    }
  }

  private Answer send(Delivery delivery, WithoutPool withoutPool, boolean mayRepeat)
      throws StoreException, PoolClosedException {
    boolean wasDoubtful = true;
    try {
      Answer answer =
          sendFirst(delivery, withoutPool, mayRepeat ? delivery::promptlyOver : delivery::over);
      if (!delivery.isDoubtful(answer)) {
        return answer;
      }
    } catch (JedisConnectionException e) {
      if (!mayRepeat
          || delivery.deadline().isOver()
          || (Failures.isTimeout(e) && !delivery.isPrompt())) {
        throw e;
      }
      wasDoubtful = false;
    } catch (JedisDataException e) {
      if (!Reply.isDoubtful(e)) {
        throw e;
      }
    }
    delivery.lookUpAgain();
    Pool<Connection> pool = delivery.pool();
    Answer anew = ownOf(pool).useNew(delivery.deadline(), delivery::over);
    if (wasDoubtful && !delivery.isDoubtful(anew)) {
      pool.clear();
    }
    return anew;
  }

  private Answer sendFirst(Delivery delivery, WithoutPool withoutPool, Wire.Use<Answer> use)
      throws StoreException, PoolClosedException {
    Pool<Connection> pool = delivery.pool();
    Deadline deadline = delivery.deadline();
    Connection connection;
    try {
      connection = borrow(pool, withoutPool, deadline, delivery.call().key());
    } catch (NoSuchElementException e) {
      if (withoutPool == WithoutPool.FAIL) {
        throw exhausted(pool, deadline, e);
      }
      return ownOf(pool).use(deadline, use);
    }
    return onPooled(pool, connection, use);
  }

  /**
   * Uses a connection of the pool; it goes back to the pool, as a broken one if it or its server is
   * of no use.
   */
  private <T> T onPooled(Pool<Connection> pool, Connection connection, Wire.Use<T> use)
      throws StoreException {
    boolean usable = true;
    try {
      return use.with(connection);
    } catch (JedisDataException e) {
      usable = !Failures.isOfAFormerPrimary(e);
      throw e;
    } catch (RuntimeException | Error e) {
      usable = false;
      // What was sent on it must not arrive after what is sent next on another.
      OwnConnection.closeQuietly(connection);
      throw e;
    } finally {
      giveBack(pool, connection, usable);
    }
  }

  /**
   * Checks that a script may use these keys together.
   *
   * @throws IllegalArgumentException it may not
   */
  void checkTogether(String lock, List<String> keys) {
    primaries.checkTogether(lock, keys);
  }

  private static StoreException exhausted(
      Pool<Connection> pool, Deadline deadline, NoSuchElementException e) {
    return StoreException.refused(
        "The client's pool gave no connection within "
            + deadline.whole()
            + ": "
            + pool.getNumActive()
            + " are in use. Make the pool larger, or find out who keeps them",
        e);
  }

  private Connection borrow(
      Pool<Connection> pool, WithoutPool withoutPool, Deadline deadline, String key)
      throws StoreException, PoolClosedException {
    try {
      return borrow(pool, withoutPool, deadline);
    } catch (StoreException e) {
      primaries.failed(key, deadline);
      throw e;
    }
  }

  /** Borrows a connection; throws {@link NoSuchElementException} if the pool has none to give. */
  private static Connection borrow(
      Pool<Connection> pool, WithoutPool withoutPool, Deadline deadline)
      throws StoreException, PoolClosedException {
    try {
      return deadline.awaitUninterruptibly(left ->
          borrow(pool, withoutPool == WithoutPool.FAIL ? Duration.ofNanos(left) : Duration.ZERO));
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
   * Gives a connection back; a broken one on a thread of ours, since the pool then opens another in
   * its place, which can take as long as the user's client allows.
   */
  private void giveBack(Pool<Connection> pool, Connection connection, boolean usable) {
    if (usable && !connection.isBroken()) {
      pool.returnResource(connection);
      return;
    }
    try {
      returns.execute(() -> giveBackBroken(pool, connection));
    } catch (RejectedExecutionException | OutOfMemoryError e) {
      // This is closed, or there is no thread. If it were kept, the pool would count it as in use
      // for ever.
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

  /**
   * Runs scripts about grants on one server in one round trip: on a connection of the pool, or on
   * our own if the pool has none at once. Only those whose answers must be checked are sent again.
   *
   * @param calls not empty; each may be repeated
   * @return for each call its reply, or the {@link StoreException} that it failed with
   */
  List<Object> runAllOnGrants(List<Call> calls) throws StoreException {
    Deadline deadline = deadlineAfter(storeTimeout);
    String key = calls.get(0).key();
    try {
      List<Object> replies = repliesOf(calls, key, deadline);
      for (int i = 0; i < replies.size(); i++) {
        if (replies.get(i) instanceof JedisDataException e) {
          replies.set(i, elsewhere(calls.get(i), deadline, e));
        }
      }
      return replies;
    } catch (JedisConnectionException e) {
      primaries.failed(key, deadline);
      throw Failures.unanswered(e);
    }
  }

  private List<Object> repliesOf(List<Call> calls, String key, Deadline deadline)
      throws StoreException {
    Pool<Connection> pool = primaries.of(key);
    while (true) {
      try {
        List<Object> replies = promptly(pool, deadline, calls);
        if (replies == null) {
          return ownOf(primaries.of(key))
              .useNew(deadline, connection -> Wire.runAll(connection, deadline, calls));
        }
        askAnew(key, deadline, calls, replies);
        return replies;
      } catch (PoolClosedException e) {
        Pool<Connection> closedPool = pool;
        pool = primaries.of(key);
        if (pool == closedPool || deadline.isOver()) {
          throw Failures.unconnected(e);
        }
      }
    }
  }

  /** Runs the scripts within a short time; null if it took too long, or the connection broke. */
  private @Nullable List<Object> promptly(
      Pool<Connection> pool, Deadline deadline, List<Call> calls)
      throws StoreException, PoolClosedException {
    Wire.Use<List<Object>> use =
        connection -> Wire.runAll(connection, deadline.within(ANSWER_IS_PROMPT), calls);
    try {
      if (pool.getTestOnBorrow()) {
        // The pool may test one dead connection after the other before it lends one that is alive.
        return ownOf(pool).use(deadline, use);
      }
      Connection connection;
      try {
        connection = borrow(pool, WithoutPool.USE_OWN, deadline, calls.get(0).key());
      } catch (NoSuchElementException e) {
        return ownOf(pool).use(deadline, use);
      }
      return onPooled(pool, connection, use);
    } catch (JedisConnectionException e) {
      if (deadline.isOver()) {
        throw e;
      }
      return null;
    }
  }

  private void askAnew(String key, Deadline deadline, List<Call> calls, List<Object> replies) {
    int[] doubtful = IntStream.range(0, replies.size())
        .filter(i -> Reply.isDoubtful(replies.get(i)))
        .toArray();
    if (doubtful.length == 0) {
      return;
    }
    List<Call> again = IntStream.of(doubtful).mapToObj(calls::get).toList();
    List<Object> anew = answersAnew(key, deadline, again);
    for (int i = 0; i < doubtful.length; i++) {
      replies.set(doubtful[i], anew.get(i));
    }
  }

  /**
   * Runs these calls again on a new connection. A failure concerns these calls only; the others'
   * answers count.
   */
  private List<Object> answersAnew(String key, Deadline deadline, List<Call> calls) {
    try {
      Pool<Connection> pool = primaries.of(key);
      List<Object> anew =
          ownOf(pool).useNew(deadline, connection -> Wire.runAll(connection, deadline, calls));
      if (!anew.stream().allMatch(Reply::isDoubtful)) {
        pool.clear();
      }
      return anew;
    } catch (JedisConnectionException e) {
      primaries.failed(key, deadline);
      return Collections.nCopies(calls.size(), Failures.unanswered(e));
    } catch (PoolClosedException e) {
      return Collections.nCopies(calls.size(), Failures.unconnected(e));
    } catch (StoreException e) {
      return Collections.nCopies(calls.size(), e);
    }
  }

  /** Runs a call whose slot is moving or has moved; there are few of these at a time. */
  private Object elsewhere(Call call, Deadline deadline, JedisDataException e) {
    try {
      Delivery delivery = new Delivery(primaries, call, deadline, true);
      delivery.follow(e);
      Object reply = deliver(delivery, WithoutPool.USE_OWN, true).reply();
      return reply == null ? Reply.noAnswer(null) : reply;
    } catch (StoreException failure) {
      return failure;
    }
  }

  /** Returns the pools of all servers that have keys. */
  List<Pool<Connection>> all(Deadline deadline) throws StoreException {
    return primaries.all(this, deadline);
  }

  /** Reads from a server that is given by its pool and not by a key. */
  <T> T read(Pool<Connection> pool, Deadline deadline, Wire.Use<T> reading) throws StoreException {
    Wire.Use<T> inTime = connection -> Wire.inTime(connection, deadline, reading);
    try {
      try {
        return onPooled(pool, borrow(pool, WithoutPool.FAIL, deadline), inTime);
      } catch (NoSuchElementException e) {
        throw exhausted(pool, deadline, e);
      } catch (JedisConnectionException e) {
        if (deadline.isOver() || Failures.isTimeout(e)) {
          throw e;
        }
      }
      // The connection was already broken.
      return ownOf(pool).useNew(deadline, inTime);
    } catch (PoolClosedException e) {
      throw Failures.unconnected(e);
    } catch (JedisDataException e) {
      throw Failures.answered(e);
    } catch (JedisConnectionException e) {
      throw Failures.unanswered(e);
    }
  }

  /**
   * Runs read-only scripts on one server, in one round trip on a connection of the user's pool.
   *
   * @return for each call its reply, or the {@link JedisDataException} that the server answered
   */
  List<Object> readAll(Pool<Connection> pool, List<Call> calls, Deadline deadline)
      throws StoreException {
    return calls.isEmpty()
        ? List.of()
        : read(pool, deadline, connection -> Wire.runAll(connection, deadline, calls));
  }

  private OwnConnection ownOf(Pool<Connection> pool) {
    OwnConnection found = own.get(pool);
    if (found != null) {
      return found;
    }
    own.entrySet().removeIf(entry -> {
      boolean gone = entry.getKey().isClosed();
      if (gone) {
        entry.getValue().close();
      }
      return gone;
    });
    OwnConnection made =
        own.computeIfAbsent(pool, key -> new OwnConnection(key, TimeSource.system()));
    if (closed) {
      made.close(); // close() may have run before this was added.
    }
    return made;
  }

  @Override
  public void close() {
    closed = true;
    own.values().forEach(OwnConnection::close);
    returns.shutdown(); // What is under way goes on.
  }
}
