package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.util.List;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.util.Pool;

/**
 * A part of the keys of a server.
 *
 * @param next where the next one begins
 */
record Page(String next, List<String> keys) {
  static final String FIRST = "0";

  /** A server does nothing else meanwhile. */
  private static final int SCANNED_AT_ONCE = 1_000;

  boolean isLast() {
    return next.equals(FIRST);
  }

  /**
   * Looks through a part of a server's keys, which is over soon, however many there are.
   *
   * @param glob which of them to return, some perhaps twice
   */
  static Page scan(
      Server server, Pool<Connection> pool, String from, String glob, Deadline deadline)
      throws StoreException {
    if (deadline.isOver()) {
      throw StoreException.refused("The time was over before all keys were looked through", null);
    }
    CommandArguments scan = new CommandArguments(Protocol.Command.SCAN)
        .add(from)
        .add(Protocol.Keyword.MATCH)
        .add(glob)
        .add(Protocol.Keyword.COUNT)
        .add(SCANNED_AT_ONCE);
    Object reply = server.read(pool, deadline, connection -> connection.executeCommand(scan));
    if (reply instanceof List<?> both && both.size() == 2 && both.get(1) instanceof List<?> found) {
      return new Page(Reply.text(both.get(0)), found.stream().map(Reply::text).toList());
    }
    throw Reply.noAnswer(reply);
  }
}
