package io.holdfast.lock.redis.server;

import io.holdfast.lock.redis.server.Server.Answer;
import io.holdfast.lock.redis.server.Server.Beside;
import io.holdfast.lock.redis.server.Server.Mode;
import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.exceptions.JedisAskDataException;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisMovedDataException;
import redis.clients.jedis.util.Pool;

/**
 * The delivery of calls to one server, together. It knows where to send them next, and whether they
 * may have been carried out already. A single call is also followed when its slot moves.
 *
 * <p>Three things can mean that the address leads to another server by now: the connection broke,
 * the server takes no writes, or it answered that there is no such grant. The calls are then sent
 * again, as far as their {@link Mode} allows, on a connection of our own that is opened afterwards.
 * A connection that is only silent is left to {@link Hedging}. If a doubtful answer turns out to be
 * another one there, the pool's idle connections are dropped. So a former primary that is still up
 * can't end a lease, as long as the address leads to the new one.
 *
 * <p>Threads: used by one.
 */
final class Delivery {
  /** The most redirections of one call; more than a moving slot can cause. */
  private static final int REDIRECTIONS_MAX = 8;

  /** The pause before a call that was answered TRYAGAIN is sent again: its slot is moving. */
  private static final Duration PAUSE = Duration.ofMillis(20);

  /**
   * The least time that must be left to send a call again after TRYAGAIN. With less, the error is
   * thrown instead: then it is certain that nothing was done.
   */
  private static final long LEFT_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(250);

  private final Server server;
  private final Primaries primaries;
  private final Mode mode;
  private final Deadline deadline;
  private List<Call> calls;
  private Pool<Connection> pool;
  private @Nullable HostAndPort askNode; // the node that an ASK error named

  /** Whether the last request that was sent may have changed something. */
  private boolean mayHaveChanged;

  /** Whether calls were sent again after a request that may have changed something. */
  private boolean repeated;

  private int redirections;

  /**
   * Makes a delivery that begins with the server that has the first call's key.
   *
   * @param calls not empty
   */
  Delivery(Server server, Primaries primaries, List<Call> calls, Mode mode, Deadline deadline)
      throws StoreException {
    this.server = server;
    this.primaries = primaries;
    this.mode = mode;
    this.deadline = deadline;
    this.calls = calls;
    this.pool = primaries.of(key());
  }

  /** Delivers the only call, wherever errors send it. */
  Answer deliverOnly() throws StoreException {
    try {
      while (true) {
        Object reply = deliver().get(0);
        if (reply instanceof StoreException e) {
          throw e;
        }
        if (!(reply instanceof JedisDataException error)) {
          return new Answer(reply, repeated);
        }
        follow(error);
      }
    } catch (StoreException e) {
      // The outcome is unknown if an earlier try may have been carried out.
      throw (repeated || mayHaveChanged) && !e.mayHaveHappened()
          ? StoreException.unanswered(
              "The connection broke before Redis answered, and then: " + e.getMessage(), e)
          : e;
    }
  }

  /**
   * Delivers the calls to the server that has their keys.
   *
   * @return for each call its reply, or the {@link JedisDataException} that the server answered, or
   *     the {@link StoreException} with which the check of a doubtful reply failed
   */
  List<Object> deliver() throws StoreException {
    try {
      while (true) {
        try {
          return send();
        } catch (PoolClosedException e) {
          leaveClosedPool(e);
        }
      }
    } catch (JedisConnectionException e) {
      throw reportFailed(e);
    }
  }

  /** Reports the server as failed; returns the exception to throw. */
  private StoreException reportFailed(JedisConnectionException e) {
    primaries.failed(key(), deadline);
    return repeated || mayHaveChanged ? Failures.unanswered(e) : Failures.unconnected(e);
  }

  /**
   * Looks for another pool than this one, which was closed.
   *
   * @throws StoreException there is none, or the deadline has passed
   */
  private void leaveClosedPool(PoolClosedException e) throws StoreException {
    Pool<Connection> closed = pool;
    lookUpAgain();
    if (pool == closed || deadline.isOver()) {
      throw Failures.unconnected(e);
    }
  }

  private List<Object> send() throws StoreException, PoolClosedException {
    try {
      List<Object> replies = sendFirst();
      if (replies.stream().anyMatch(this::isDoubtful)) {
        replaceDoubtful(replies);
      }
      return replies;
    } catch (JedisConnectionException e) {
      // If nothing was sent, the server could not be reached, and another try would take as long.
      // A socket counts whole milliseconds, and may give up in the last one.
      if (!mode.mayRepeat() || !mayHaveChanged || deadline.leftMillis() <= 1) {
        throw e;
      }
    }
    lookUpAgain();
    return sendAnew(calls);
  }

  private List<Object> sendFirst() throws StoreException, PoolClosedException {
    Beside beside = server.beside(pool, mode);
    Wire.Use<List<Object>> use = connection -> sendOver(connection, calls, beside);
    if (mode == Mode.RENEWAL && pool.getTestOnBorrow()) {
      return beside.own().use(deadline, use);
    }
    Connection borrowed;
    try {
      borrowed = Server.borrow(pool, mode, deadline);
    } catch (NoSuchElementException e) {
      if (mode.waitsForPool()) {
        throw Server.exhausted(pool, deadline, e);
      }
      return beside.own().use(deadline, use);
    } catch (StoreException e) {
      primaries.failed(key(), deadline);
      throw e;
    }
    try {
      return Wire.use(borrowed, use);
    } finally {
      server.giveBack(pool, borrowed);
    }
  }

  private List<Object> sendAnew(List<Call> again) throws StoreException, PoolClosedException {
    return server
        .beside(pool, mode)
        .own()
        .useNew(deadline, connection -> sendOver(connection, again, null));
  }

  /**
   * Sends the calls with doubtful replies again on a new connection, and takes the replies from
   * there. If that fails, it concerns these calls only; the others' replies count.
   */
  private void replaceDoubtful(List<Object> replies) throws PoolClosedException {
    List<Call> doubtful = IntStream.range(0, replies.size())
        .filter(i -> isDoubtful(replies.get(i)))
        .mapToObj(calls::get)
        .toList();
    List<Object> checked;
    try {
      lookUpAgain();
      checked = sendAnew(doubtful);
      if (!checked.stream().allMatch(this::isDoubtful)) {
        pool.clear();
      }
    } catch (JedisConnectionException e) {
      checked = Collections.nCopies(doubtful.size(), reportFailed(e));
    } catch (StoreException e) {
      checked = Collections.nCopies(doubtful.size(), e);
    }
    Iterator<Object> next = checked.iterator();
    replies.replaceAll(reply -> isDoubtful(reply) ? next.next() : reply);
  }

  /**
   * Sends calls, and reads the replies.
   *
   * @param beside where a copy may be sent if the connection is silent; null of a new connection
   * @return for each call its reply, or the {@link JedisDataException} that the server answered
   * @throws JedisConnectionException the connection broke, and they may have been carried out
   */
  private List<Object> sendOver(Connection connection, List<Call> sent, @Nullable Beside beside)
      throws StoreException {
    repeated |= mayHaveChanged;
    mayHaveChanged = true;
    List<Object> replies;
    if (beside == null || !mode.mayRepeat()) {
      replies = Wire.exchange(connection, deadline, sent, () -> {});
    } else {
      Hedging.Answered answered = beside.hedging().run(connection, deadline, sent);
      repeated |= answered.repeated();
      replies = answered.replies();
    }
    // "No such grant" changed nothing. Nor did an error, unless it came from within a script after
    // a write, which Failures.answered tells.
    mayHaveChanged = !replies.stream()
        .allMatch(reply -> reply instanceof JedisDataException || isDoubtful(reply));
    return replies;
  }

  /** Whether a call must be sent again on a new connection; see {@link Reply#isDoubtful}. */
  private boolean isDoubtful(@Nullable Object reply) {
    return (mode.isAboutGrants() || reply instanceof JedisDataException) && Reply.isDoubtful(reply);
  }

  /** Returns the key that determines the server. */
  private String key() {
    return calls.get(0).key();
  }

  /** Looks up again where to send the calls. */
  private void lookUpAgain() throws StoreException {
    pool = askNode == null ? primaries.of(key()) : primaries.at(askNode, deadline);
  }

  /**
   * Follows an error that says that the only call must be sent elsewhere, or again. A server that
   * answers so has done nothing.
   *
   * @throws StoreException it is another error, or there were too many redirections
   */
  void follow(JedisDataException e) throws StoreException {
    if (e instanceof JedisAskDataException ask) {
      countRedirection(e);
      turnTo(ask.getTargetNode());
    } else if (e instanceof JedisMovedDataException moved) {
      countRedirection(e);
      primaries.moved(key(), moved.getTargetNode(), deadline);
      turnTo(null);
    } else if (Failures.isToBeTriedAgain(e) && deadline.leftNanos() >= LEFT_NANOS_MIN) {
      Server.pause(PAUSE, deadline);
      turnTo(null);
    } else {
      throw Failures.answered(e);
    }
  }

  private void turnTo(@Nullable HostAndPort node) throws StoreException {
    askNode = node;
    calls = List.of(calls.get(0).asking(node != null));
    lookUpAgain();
  }

  private void countRedirection(JedisDataException e) throws StoreException {
    redirections++;
    if (redirections > REDIRECTIONS_MAX || deadline.isOver()) {
      throw Failures.answered(e);
    }
  }
}
