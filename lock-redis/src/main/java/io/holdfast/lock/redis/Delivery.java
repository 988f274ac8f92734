package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.exceptions.JedisAskDataException;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisMovedDataException;
import redis.clients.jedis.util.Pool;

/**
 * A call on its way: where it is sent next, and whether it may have been carried out before. Used
 * by one thread.
 */
final class Delivery {
  /** More than a slot that moves can cause: each time, one server took another for responsible. */
  private static final int REDIRECTIONS_MAX = 8;

  private static final long PAUSE_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(4);
  private static final long PAUSE_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(64);

  /** With less, an answer might be missed, where it is certain so far that nothing was done. */
  private static final long LEFT_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(250);

  private final Primaries primaries;
  private final Deadline deadline;
  private final boolean isAboutAGrant;
  private Call call;
  private Pool<Connection> pool;
  private @Nullable HostAndPort asked; // the node to which a server sent it
  private boolean isUnanswered;
  private boolean repeated;
  private int redirections;
  private long pauseNanos = PAUSE_NANOS_MIN;

  /**
   * Begins with the server that has the call's key.
   *
   * @param isAboutAGrant whether the reply can say that there is no such grant
   */
  Delivery(Primaries primaries, Call call, Deadline deadline, boolean isAboutAGrant)
      throws StoreException {
    this.primaries = primaries;
    this.deadline = deadline;
    this.isAboutAGrant = isAboutAGrant;
    this.call = call;
    this.pool = primaries.of(call.key());
  }

  /** What to send next. */
  Call call() {
    return call;
  }

  /** Where to send it. */
  Pool<Connection> pool() {
    return pool;
  }

  Deadline deadline() {
    return deadline;
  }

  /**
   * Sends it over a connection.
   *
   * @throws JedisDataException the server answered an error
   * @throws JedisConnectionException the connection broke, and it may have been carried out
   */
  Server.Answer over(Connection connection) throws StoreException {
    repeated |= isUnanswered;
    isUnanswered = true;
    try {
      Server.Answer answer = new Server.Answer(Wire.run(connection, deadline, call), repeated);
      isUnanswered = !isDoubtful(answer); // where there is no such grant, nothing was changed
      return answer;
    } catch (JedisDataException e) {
      isUnanswered = false;
      throw e;
    }
  }

  /** Whether it is to be asked again on a new connection: see {@link Reply#isDoubtful}. */
  boolean isDoubtful(Server.Answer answer) {
    return isAboutAGrant && Reply.isDoubtful(answer.reply());
  }

  /** Looks up where to send it now. */
  void lookUpAgain() throws StoreException {
    pool = asked == null ? primaries.of(call.key()) : primaries.at(asked, deadline);
  }

  /** The pool was closed before anything was sent. */
  void leaveClosedPool() throws StoreException {
    Pool<Connection> closed = pool;
    lookUpAgain();
    if (pool == closed || deadline.isOver()) {
      throw Failures.unconnected(new PoolClosedException());
    }
  }

  /** What a failure means, of whatever was sent before. */
  StoreException failed(StoreException e) {
    return (repeated || isUnanswered) && !e.mayHaveHappened()
        ? StoreException.unanswered(
            "The connection broke before Redis answered, and then: " + e.getMessage(), e)
        : e;
  }

  /** Whether an error only says that the call is to be sent elsewhere, or again. */
  static boolean isElsewhere(JedisDataException e) {
    return e instanceof JedisMovedDataException
        || e instanceof JedisAskDataException
        || Failures.isToBeTriedAgain(e);
  }

  /**
   * Goes where an error sends it. Whoever answers so has done nothing.
   *
   * @throws StoreException it is another error, or there were too many
   */
  void follow(JedisDataException e) throws StoreException {
    if (!isElsewhere(e)) {
      throw Failures.answered(e);
    }
    if (e instanceof JedisAskDataException ask) {
      count(e);
      send(ask.getTargetNode());
      return;
    }
    if (e instanceof JedisMovedDataException moved) {
      count(e);
      primaries.moved(call.key(), moved.getTargetNode());
    } else {
      pause(e);
    }
    send(null);
  }

  private void send(@Nullable HostAndPort node) throws StoreException {
    asked = node;
    call = call.asking(node != null);
    lookUpAgain();
  }

  private void count(JedisDataException e) throws StoreException {
    redirections++;
    if (redirections > REDIRECTIONS_MAX || deadline.isOver()) {
      throw Failures.answered(e);
    }
  }

  /** Keys that are used together are at two servers for the moment. */
  private void pause(JedisDataException e) throws StoreException {
    if (deadline.leftNanos() < LEFT_NANOS_MIN) {
      throw Failures.answered(e);
    }
    boolean unused = deadline
        .within(Duration.ofNanos(pauseNanos))
        .<Boolean, RuntimeException>awaitUninterruptibly(left -> {
          TimeUnit.NANOSECONDS.sleep(left);
          return true;
        });
    pauseNanos = Math.min(PAUSE_NANOS_MAX, 2 * pauseNanos);
  }
}
