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
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.Pool;

/**
 * Runs scripts where their keys live, each within the store timeout, on a connection of the user's
 * pool or, if there is none, on one of our own.
 *
 * <p>What shows that the address may lead to another server by now is checked on a connection of
 * our own that is opened after it: that the connection broke, that the server takes no writes, or
 * that there is no such grant. Where the new one says otherwise, what idles in the pool is dropped.
 * So a former server that is still up ends no lease, as long as the address leads to the next one.
 *
 * <p>Threads: safe for all.
 */
final class Server implements AutoCloseable {
  /**
   * A connection that was idle for long can have been cut without a word. Renewals that are not
   * answered within this are sent again on a new one, while a lease that was just handed over still
   * stands.
   */
  private static final Duration RENEWAL_IS_PROMPT = Duration.ofMillis(500);

  private final Primaries primaries;
  private final Duration storeTimeout;
  private final Map<Pool<Connection>, OwnConnection> own = new ConcurrentHashMap<>();
  private volatile boolean closed;

  Server(Primaries primaries, Duration storeTimeout) {
    this.primaries = primaries;
    this.storeTimeout = storeTimeout;
  }

  /**
   * What came of a call.
   *
   * @param repeated whether it was sent twice, so that the first one may have been carried out
   */
  record Answer(@Nullable Object reply, boolean repeated) {}

  /** What to do if the pool has no connection to give. */
  enum WithoutPool {
    /** Wait for one, and fail if none comes: the application is not to be overtaken. */
    FAIL {
      @Override
      Duration waits(long leftNanos) {
        return Duration.ofNanos(leftNanos);
      }
    },
    /**
     * Use a connection of our own, at once: others wait for what this call frees, and the time that
     * it has is for the server to answer in.
     */
    USE_OWN {
      @Override
      Duration waits(long leftNanos) {
        return Duration.ZERO;
      }
    };

    /** For how long the pool is waited for. */
    abstract Duration waits(long leftNanos);
  }

  /** For one call to the store. On real time, whatever clock the engine runs on: sockets are. */
  static Deadline deadlineAfter(Duration storeTimeout) {
    return Deadline.after(storeTimeout, TimeSource.system());
  }

  /**
   * Runs a script. A connection that turns out to be broken is no failure yet: the script is sent
   * again on another, so it must be one that may be repeated.
   */
  Answer run(Call call, WithoutPool withoutPool) throws StoreException {
    return run(call, withoutPool, deadlineAfter(storeTimeout));
  }

  /** The same, as a part of a longer work. */
  Answer run(Call call, WithoutPool withoutPool, Deadline deadline) throws StoreException {
    return deliver(new Delivery(primaries, call, deadline, false), withoutPool, true);
  }

  /** The same, for a script about a grant; that there is none is checked. */
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
      primaries.failed(delivery.call().key());
      throw Failures.unanswered(e);
    } catch (StoreException e) {
      throw delivery.failed(e);
    }
  }

  private Answer send(Delivery delivery, WithoutPool withoutPool, boolean mayRepeat)
      throws StoreException, PoolClosedException {
    boolean wasDoubtful = true;
    try {
      Answer answer = sendFirst(delivery, withoutPool);
      if (!delivery.isDoubtful(answer)) {
        return answer;
      }
    } catch (JedisConnectionException e) {
      if (!mayRepeat || delivery.deadline().isOver() || Failures.isTimeout(e)) {
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

  private Answer sendFirst(Delivery delivery, WithoutPool withoutPool)
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
      return ownOf(pool).use(deadline, delivery::over);
    }
    return onPooled(pool, connection, delivery::over);
  }

  /** On a connection of the pool, which gets it back if it leads to a server that is of use. */
  private static <T> T onPooled(Pool<Connection> pool, Connection connection, Wire.Use<T> use)
      throws StoreException {
    boolean usable = true;
    try {
      return use.with(connection);
    } catch (JedisDataException e) {
      usable = !Failures.isOfAFormerPrimary(e);
      throw e;
    } catch (RuntimeException | Error e) {
      usable = false;
      throw e;
    } finally {
      giveBack(pool, connection, usable);
    }
  }

  /**
   * Makes sure that a script may use these keys together.
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
      primaries.failed(key);
      throw e;
    }
  }

  /** Throws {@link NoSuchElementException} if the pool has none to give. */
  private static Connection borrow(
      Pool<Connection> pool, WithoutPool withoutPool, Deadline deadline)
      throws StoreException, PoolClosedException {
    try {
      return deadline.awaitUninterruptibly(left -> borrow(pool, withoutPool.waits(left)));
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
      // A pool that is closed interrupts those who wait for it: that is not for our caller.
      if (pool.isClosed()) {
        throw new PoolClosedException();
      }
      throw e;
    }
  }

  private static void giveBack(Pool<Connection> pool, Connection connection, boolean usable) {
    if (usable && !connection.isBroken()) {
      pool.returnResource(connection);
    } else {
      try {
        pool.returnBrokenResource(connection);
      } catch (JedisException e) {
        // It is gone from the pool, but a new one for somebody who waits could not be opened.
      }
    }
  }

  /**
   * Runs scripts about grants of one server one after the other in one trip: where the pool's
   * connections lead now, or on our own if there is none to be had at once. Of those that are to be
   * checked, only these are sent again.
   *
   * @param calls not empty; each may be repeated
   * @return what each one returned, or the {@link StoreException} that it failed with
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
      primaries.failed(key);
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
        pool = primaries.insteadOf(pool, key);
      }
    }
  }

  /** Null: it took too long, or the connection broke. */
  private @Nullable List<Object> promptly(
      Pool<Connection> pool, Deadline deadline, List<Call> calls)
      throws StoreException, PoolClosedException {
    Wire.Use<List<Object>> use =
        connection -> Wire.runAll(connection, deadline.within(RENEWAL_IS_PROMPT), calls);
    try {
      if (pool.getTestOnBorrow()) {
        // It may test one dead connection after the other before it lends one that is alive.
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

  /** A failure is that of these calls only: what the others were answered counts. */
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
      primaries.failed(key);
      return Collections.nCopies(calls.size(), Failures.unanswered(e));
    } catch (PoolClosedException e) {
      return Collections.nCopies(calls.size(), Failures.unconnected(e));
    } catch (StoreException e) {
      return Collections.nCopies(calls.size(), e);
    }
  }

  /** Of a slot that moves or has moved; there are few of them at a time. */
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

  /** The pools of all servers that have keys. */
  List<Pool<Connection>> all(Deadline deadline) throws StoreException {
    return primaries.all(this, deadline);
  }

  /** Uses a server, of which no key says which it is, for what changes nothing. */
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
      // It was broken before.
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
   * Runs scripts that change nothing at one server, in one trip on a connection of the user's pool.
   *
   * @return what each one returned, or the {@link JedisDataException} that it was answered
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
      made.close(); // close() may have looked before this was there
    }
    return made;
  }

  @Override
  public void close() {
    closed = true;
    own.values().forEach(OwnConnection::close);
  }
}
