package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
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
 * Calls that are sent to one server together: where to send them next, and whether they may have
 * been carried out already. A single call is also followed when its slot moves. Used by one thread.
 */
final class Delivery {
  /**
   * The time within which an answer should come. A connection that was idle can be dead without
   * notice, so calls that may be repeated are then sent again on a new one.
   */
  private static final Duration ANSWER_IS_PROMPT = Duration.ofMillis(500);

  /** The most redirections of one call; more than a moving slot can cause. */
  private static final int REDIRECTIONS_MAX = 8;

  /** The pause while keys that are used together are on two servers. */
  private static final Duration PAUSE = Duration.ofMillis(20);

  /**
   * The least time that must be left for another try. With less, its answer might not come in time;
   * without another try, it is certain that nothing was done.
   */
  private static final long LEFT_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(250);

  private final Primaries primaries;
  private final Server.Mode mode;
  private final Deadline deadline;
  private List<Call> calls;
  private Pool<Connection> pool;
  private @Nullable HostAndPort asked; // the node that an ASK error named
  private boolean mayHaveChanged;
  private boolean repeated;
  private boolean isPrompt;
  private int redirections;

  /**
   * Makes a delivery that begins with the server that has the first call's key.
   *
   * @param calls not empty
   */
  Delivery(Primaries primaries, List<Call> calls, Server.Mode mode, Deadline deadline)
      throws StoreException {
    this.primaries = primaries;
    this.mode = mode;
    this.deadline = deadline;
    this.calls = calls;
    this.pool = primaries.of(key());
  }

  /** Returns the calls to send next. */
  List<Call> calls() {
    return calls;
  }

  /** Returns the key that determines the server. */
  String key() {
    return calls.get(0).key();
  }

  /** Returns the pool of the server to send them to. */
  Pool<Connection> pool() {
    return pool;
  }

  Server.Mode mode() {
    return mode;
  }

  Deadline deadline() {
    return deadline;
  }

  /**
   * Sends the calls over a connection that may be dead without notice. Waits only for
   * {@link #ANSWER_IS_PROMPT} if they may be sent again and there will be time to open another
   * connection. Renewals never wait longer: a lease must not be lost because the pool's connections
   * are silent.
   */
  List<Object> over(Connection connection) throws StoreException {
    int openingMillis = connection.getSoTimeout();
    boolean isTimeToOpen = !mode.needsAllTime()
        && openingMillis > 0
        && deadline.leftMillis() > ANSWER_IS_PROMPT.toMillis() + openingMillis;
    isPrompt = mode == Server.Mode.RENEWAL || (mode.mayRepeat() && isTimeToOpen);
    return over(connection, isPrompt ? deadline.within(ANSWER_IS_PROMPT) : deadline, calls);
  }

  /** Sends some or all of the calls again, over a new connection. */
  List<Object> overNew(Connection connection, List<Call> again) throws StoreException {
    return over(connection, deadline, again);
  }

  /**
   * Sends calls, and waits for replicas if one granted a lock that they must have. Waits for the
   * replies no longer than the user's client does, unless the mode needs all of the time left.
   *
   * @return for each call its reply, or the {@link JedisDataException} that the server answered
   * @throws JedisConnectionException the connection broke, and they may have been carried out
   */
  private List<Object> over(Connection connection, Deadline limit, List<Call> sent)
      throws StoreException {
    int usualMillis = connection.getSoTimeout();
    Deadline answered = usualMillis == 0 || mode.needsAllTime()
        ? limit
        : limit.within(Duration.ofMillis(usualMillis));
    repeated |= mayHaveChanged;
    mayHaveChanged = true;
    List<Object> replies;
    try {
      replies = Wire.run(connection, answered, sent);
    } catch (JedisDataException e) {
      // The answer to ASKING; nothing else was sent.
      replies = new ArrayList<>(Collections.nCopies(sent.size(), e));
    }
    Replicas replicas = sent.get(0).replicas();
    // WAIT covers any grant, also one handed over or asked for again: acquire.lua wrote something.
    if (replicas != null && Reply.isGrant(replies.get(0))) {
      replicas.await(connection, deadline);
    }
    // Without such a grant nothing was changed. Failures.answered judges what an error changed.
    mayHaveChanged = !replies.stream()
        .allMatch(reply -> reply instanceof JedisDataException || isDoubtful(reply));
    return replies;
  }

  /** Whether a call must be sent again on a new connection; see {@link Reply#isDoubtful}. */
  boolean isDoubtful(@Nullable Object reply) {
    return (mode.isAboutGrants() || reply instanceof JedisDataException) && Reply.isDoubtful(reply);
  }

  /** Whether the calls can be sent again after their connection broke. */
  boolean mayBeSentAgain(JedisConnectionException e) {
    return mode.mayRepeat() && !deadline.isOver() && (isPrompt || !Failures.isTimeout(e));
  }

  /** Whether the calls were sent again although the first ones may have been carried out. */
  boolean isRepeated() {
    return repeated;
  }

  /** Looks up again where to send the calls. */
  void lookUpAgain() throws StoreException {
    pool = asked == null ? primaries.of(key()) : primaries.at(asked, deadline);
  }

  /**
   * Looks for another pool than this one, which was closed.
   *
   * @throws StoreException there is none, or the deadline has passed
   */
  void leaveClosedPool() throws StoreException {
    Pool<Connection> closed = pool;
    lookUpAgain();
    if (pool == closed || deadline.isOver()) {
      throw Failures.unconnected(new PoolClosedException());
    }
  }

  /**
   * Returns the failure of the whole delivery: its outcome is unknown if an earlier try may have
   * been carried out.
   */
  StoreException failed(StoreException e) {
    return (repeated || mayHaveChanged) && !e.mayHaveHappened()
        ? StoreException.unanswered(
            "The connection broke before Redis answered, and then: " + e.getMessage(), e)
        : e;
  }

  /**
   * Follows an error that says that the only call must be sent elsewhere, or again. A server that
   * answers so has done nothing.
   *
   * @throws StoreException it is another error, or there were too many redirections
   */
  void follow(JedisDataException e) throws StoreException {
    if (e instanceof JedisAskDataException ask) {
      count(e);
      send(ask.getTargetNode());
    } else if (e instanceof JedisMovedDataException moved) {
      count(e);
      primaries.moved(key(), moved.getTargetNode(), deadline);
      send(null);
    } else if (Failures.isToBeTriedAgain(e) && deadline.leftNanos() >= LEFT_NANOS_MIN) {
      Server.pause(PAUSE, deadline);
      send(null);
    } else {
      throw Failures.answered(e);
    }
  }

  private void send(@Nullable HostAndPort node) throws StoreException {
    asked = node;
    calls = List.of(calls.get(0).asking(node != null));
    lookUpAgain();
  }

  private void count(JedisDataException e) throws StoreException {
    redirections++;
    if (redirections > REDIRECTIONS_MAX || deadline.isOver()) {
      throw Failures.answered(e);
    }
  }
}
