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

/** Scripts over one connection, whose socket waits no longer than there is time. */
final class Wire {
  private Wire() {}

  /** What to do with a connection. */
  @FunctionalInterface
  interface Use<T> {
    /**
     * Uses it.
     *
     * @throws JedisDataException the server answered an error
     * @throws JedisConnectionException it broke
     */
    T with(Connection connection) throws StoreException;
  }

  /** Runs a script, and has replicas confirm what it granted. */
  static @Nullable Object run(Connection connection, Deadline deadline, Call call)
      throws StoreException {
    Object reply = runInTime(connection, deadline, call);
    Replicas replicas = call.replicas();
    // A number is a grant, be it new, handed over or asked for again: each of them wrote.
    if (replicas != null && reply instanceof Long) {
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

  /** A server that was restarted, or had its scripts flushed, is told the text again. */
  private static @Nullable Object run(Connection connection, Call call) {
    try {
      announce(connection, call);
      return connection.executeCommand(call.bySha());
    } catch (JedisNoScriptException e) {
      announce(connection, call);
      return connection.executeCommand(call.byText());
    }
  }

  private static void announce(Connection connection, Call call) {
    if (call.isAsking()) {
      Object unused = connection.executeCommand(new CommandArguments(Protocol.Command.ASKING));
    }
  }

  /**
   * Runs scripts one after the other in one trip.
   *
   * @param calls not empty
   * @return what each one returned, or the {@link JedisDataException} that it was answered
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
      // The text of the first one will do for those behind it.
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

  /** Uses a connection, which is to wait as long as usual again afterwards. */
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
