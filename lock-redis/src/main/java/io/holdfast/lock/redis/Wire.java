package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisNoScriptException;

/** Runs scripts over one connection, with the socket's timeout limited to the time left. */
final class Wire {
  private Wire() {}

  /** A use of a connection. */
  @FunctionalInterface
  interface Use<T> {
    /**
     * Uses the connection.
     *
     * @throws JedisDataException the server answered with an error
     * @throws JedisConnectionException the connection broke
     */
    T with(Connection connection) throws StoreException;
  }

  /**
   * Runs a script, and waits for replicas if it granted a lock that they must have.
   *
   * @param answered the time limit for the script's reply
   * @param deadline the time limit for the replicas
   */
  static @Nullable Object run(
      Connection connection, Deadline answered, Deadline deadline, Call call)
      throws StoreException {
    Object reply = runInTime(connection, answered, call);
    Replicas replicas = call.replicas();
    // A grant, whether new, handed over or asked for again: each of them wrote something.
    if (replicas != null && Reply.isGrant(reply)) {
      replicas.await(connection, deadline);
    }
    return reply;
  }

  private static @Nullable Object runInTime(Connection connection, Deadline deadline, Call call) {
    int usualMillis = connection.getSoTimeout();
    int leftMillis = deadline.leftMillis();
    if (usualMillis > 0 && usualMillis <= leftMillis) {
      return run(connection, call);
    }
    connection.setSoTimeout(leftMillis);
    Object reply;
    try {
      reply = run(connection, call);
    } catch (JedisDataException e) {
      connection.setSoTimeout(usualMillis);
      throw e;
    }
    connection.setSoTimeout(usualMillis);
    return reply;
  }

  /**
   * Runs a script by its name, or by its text if the server does not know it, after a restart or a
   * flush of its scripts.
   */
  private static @Nullable Object run(Connection connection, Call call) {
    try {
      sendAsking(connection, call);
      return connection.executeCommand(call.bySha());
    } catch (JedisNoScriptException e) {
      sendAsking(connection, call);
      return connection.executeCommand(call.byText());
    }
  }

  private static void sendAsking(Connection connection, Call call) {
    if (call.isAsking()) {
      Object unused = connection.executeCommand(new CommandArguments(Protocol.Command.ASKING));
    }
  }

  /**
   * Runs scripts in one round trip.
   *
   * @param calls of one script, not empty
   * @return for each call its reply, or the {@link JedisDataException} that the server answered
   */
  static List<Object> runAll(Connection connection, Deadline deadline, List<Call> calls)
      throws StoreException {
    return inTime(connection, deadline, timed -> pipeline(timed, calls));
  }

  private static List<Object> pipeline(Connection connection, List<Call> calls) {
    for (Call call : calls) {
      connection.sendCommand(call.bySha());
    }
    List<Object> replies = new ArrayList<>(connection.getMany(calls.size()));
    List<Integer> unknown = new ArrayList<>();
    for (int i = 0; i < replies.size(); i++) {
      if (replies.get(i) instanceof JedisNoScriptException) {
        unknown.add(i);
      }
    }
    if (!unknown.isEmpty()) {
      // The text of the first one is enough for all of them.
      connection.sendCommand(calls.get(unknown.get(0)).byText());
      for (int index : unknown.subList(1, unknown.size())) {
        connection.sendCommand(calls.get(index).bySha());
      }
      List<Object> again = connection.getMany(unknown.size());
      for (int i = 0; i < unknown.size(); i++) {
        replies.set(unknown.get(i), again.get(i));
      }
    }
    return replies;
  }

  /**
   * Uses a connection with the socket's timeout limited to the deadline; restores the timeout
   * afterwards.
   */
  static <T> T inTime(Connection connection, Deadline deadline, Use<T> use) throws StoreException {
    int usualMillis = connection.getSoTimeout();
    connection.setSoTimeout(deadline.leftMillis());
    T result;
    try {
      result = use.with(connection);
    } catch (JedisDataException e) {
      connection.setSoTimeout(usualMillis);
      throw e;
    }
    connection.setSoTimeout(usualMillis);
    return result;
  }
}
