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
 * The delivery of one call: where to send it next, and whether it may have been carried out
 * already. Used by one thread.
 */
final class Delivery {
  /** The most redirections of one call; more than a moving slot can cause. */
  private static final int REDIRECTIONS_MAX = 8;

  private static final long PAUSE_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(4);
  private static final long PAUSE_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(64);

  /**
   * The least time left for another try. With less, its answer might not come in time; without
   * another try, it is certain that nothing was done.
   */
  private static final long LEFT_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(250);

  private final Primaries primaries;
  private final Deadline deadline;
  private final boolean isAboutAGrant;
  private Call call;
  private Pool<Connection> pool;
  private @Nullable HostAndPort asked; // the node to which a server redirected the call
  private boolean mayHaveChanged;
  private boolean repeated;
  private boolean isPrompt;
  private int redirections;
  private long pauseNanos = PAUSE_NANOS_MIN;

  /**
   * Makes a delivery that begins with the server that has the call's key.
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

  /** Returns the call to send next. */
  Call call() {
    return call;
  }

  /** Returns the pool of the server to send it to. */
  Pool<Connection> pool() {
    return pool;
  }

  Deadline deadline() {
    return deadline;
  }

  /**
   * Sends the call over a connection.
   *
   * @throws JedisDataException the server answered with an error
   * @throws JedisConnectionException the connection broke, and the call may have been carried out
   */
  Server.Answer over(Connection connection) throws StoreException {
    return over(connection, deadline);
  }

  /**
   * Sends a call that may be sent again: waits only for {@link Server#ANSWER_IS_PROMPT} if enough
   * time is left after that to open another connection.
   */
  Server.Answer promptlyOver(Connection connection) throws StoreException {
    int openingMillis = connection.getSoTimeout();
    isPrompt = openingMillis > 0
        && deadline.leftMillis() > Server.ANSWER_IS_PROMPT.toMillis() + openingMillis;
    return over(connection, isPrompt ? deadline.within(Server.ANSWER_IS_PROMPT) : deadline);
  }

  /** Whether a call that was not answered in time can be sent again. */
  boolean isPrompt() {
    return isPrompt;
  }

  private Server.Answer over(Connection connection, Deadline answered) throws StoreException {
    repeated |= mayHaveChanged;
    mayHaveChanged = true;
    try {
      Object reply = Wire.run(connection, answered, deadline, call);
      Server.Answer answer = new Server.Answer(reply, repeated);
      mayHaveChanged = !isDoubtful(answer); // If there is no such grant, nothing was changed.
      return answer;
    } catch (JedisDataException e) {
      mayHaveChanged = false;
      throw e;
    }
  }

  /** Whether the call must be sent again on a new connection; see {@link Reply#isDoubtful}. */
  boolean isDoubtful(Server.Answer answer) {
    return isAboutAGrant && Reply.isDoubtful(answer.reply());
  }

  /** Looks up again where to send the call. */
  void lookUpAgain() throws StoreException {
    pool = asked == null ? primaries.of(call.key()) : primaries.at(asked, deadline);
  }

  /** Moves on from a pool that was closed before anything was sent. */
  void leaveClosedPool() throws StoreException {
    Pool<Connection> closed = pool;
    lookUpAgain();
    if (pool == closed || deadline.isOver()) {
      throw Failures.unconnected(new PoolClosedException());
    }
  }

  /** Returns a failure, taking into account what was sent before. */
  StoreException failed(StoreException e) {
    return (repeated || mayHaveChanged) && !e.mayHaveHappened()
        ? StoreException.unanswered(
            "The connection broke before Redis answered, and then: " + e.getMessage(), e)
        : e;
  }

  /** Whether an error only says that the call must be sent elsewhere, or again. */
  static boolean isElsewhere(JedisDataException e) {
    return e instanceof JedisMovedDataException
        || e instanceof JedisAskDataException
        || Failures.isToBeTriedAgain(e);
  }

  /**
   * Follows an error that redirects the call. A server that answers so has done nothing.
   *
   * @throws StoreException it is another error, or there were too many redirections
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
      primaries.moved(call.key(), moved.getTargetNode(), deadline);
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

  /** Pauses, since keys that are used together are on two servers at the moment. */
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
