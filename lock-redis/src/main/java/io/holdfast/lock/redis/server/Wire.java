package io.holdfast.lock.redis.server;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.IntStream;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisNoScriptException;

/** Runs scripts over one connection, with the socket's timeout limited to the time left. */
public final class Wire {
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
   * Sends calls, and reads the replies. If the first one asks for a lock that replicas must have,
   * and was granted it, waits for the replicas too.
   *
   * @param answered called when the server itself has answered
   * @return for each call its reply, or the {@link JedisDataException} that the server answered
   * @throws JedisConnectionException the connection broke, and they may have been carried out
   */
  static List<Object> exchange(
      Connection connection, Deadline deadline, List<Call> calls, Runnable answered)
      throws StoreException {
    List<Object> replies;
    try {
      replies = run(connection, deadline, calls);
    } catch (JedisDataException e) {
      // The answer to ASKING; nothing else was sent.
      replies = new ArrayList<>(Collections.nCopies(calls.size(), e));
    }
    answered.run();
    Replicas replicas = calls.get(0).replicas();
    // WAIT covers any grant, also one handed over or asked for again: acquire.lua wrote something.
    if (replicas != null && Reply.isGrant(replies.get(0))) {
      replicas.await(connection, deadline);
    }
    return replies;
  }

  /**
   * Runs scripts in one round trip. Each is sent by its SHA-1 name. If the server does not know
   * that, as after a restart or a {@code SCRIPT FLUSH}, it is sent once more, the first call of
   * each script with its text.
   *
   * @return for each call its reply, or the {@link JedisDataException} that the server answered
   */
  private static List<Object> run(Connection connection, Deadline deadline, List<Call> calls)
      throws StoreException {
    return inTime(connection, deadline, timed -> {
      List<Object> replies = pipeline(timed, calls, Call::bySha);
      if (replies.stream().anyMatch(JedisNoScriptException.class::isInstance)) {
        List<Call> unknown = IntStream.range(0, calls.size())
            .filter(i -> replies.get(i) instanceof JedisNoScriptException)
            .mapToObj(calls::get)
            .toList();
        Set<Script> sent = new HashSet<>();
        timed.setSoTimeout(deadline.leftMillis());
        Iterator<Object> again = pipeline(
                timed, unknown, call -> sent.add(call.script()) ? call.byText() : call.bySha())
            .iterator();
        replies.replaceAll(reply -> reply instanceof JedisNoScriptException ? again.next() : reply);
      }
      return replies;
    });
  }

  private static List<Object> pipeline(
      Connection connection, List<Call> calls, Function<Call, CommandArguments> command) {
    for (Call call : calls) {
      if (call.isAsking()) {
        Object unused = connection.executeCommand(new CommandArguments(Protocol.Command.ASKING));
      }
      connection.sendCommand(command.apply(call));
    }
    return new ArrayList<>(connection.getMany(calls.size()));
  }

  /**
   * Uses a connection with the socket's timeout limited to the deadline. Restores the timeout
   * afterwards, unless the connection broke.
   */
  static <T> T inTime(Connection connection, Deadline deadline, Use<T> use) throws StoreException {
    int usualMillis = connection.getSoTimeout();
    connection.setSoTimeout(deadline.leftMillis());
    try {
      return use.with(connection);
    } finally {
      if (!connection.isBroken()) {
        connection.setSoTimeout(usualMillis);
      }
    }
  }

  /**
   * Uses a connection, and closes it unless all replies on it were read. Otherwise a request could
   * arrive after a later one on another connection, or a late reply be taken for the next one's.
   */
  static <T> T use(Connection connection, Use<T> use) throws StoreException {
    try {
      return use.with(connection);
    } catch (StoreException | JedisDataException e) {
      throw e;
    } catch (Throwable e) {
      closeQuietly(connection);
      throw e;
    }
  }

  /** Closes a connection, and marks it as broken, so that nobody uses it again. */
  public static void closeQuietly(Connection connection) {
    connection.setBroken();
    try {
      connection.forceDisconnect();
    } catch (Exception e) {
      // It is closed either way.
    }
  }
}
