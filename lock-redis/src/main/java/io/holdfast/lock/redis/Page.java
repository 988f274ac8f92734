package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.util.List;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.util.Pool;

/**
 * A page of a server's keys.
 *
 * @param next the cursor of the next page
 */
record Page(String next, List<String> keys) {
  static final String FIRST = "0";

  /** The number of keys that are scanned at once; the server does nothing else meanwhile. */
  private static final int SCANNED_AT_ONCE = 1_000;

  boolean isLast() {
    return next.equals(FIRST);
  }

  /**
   * Scans a part of a server's keys; takes a short time, however many keys there are.
   *
   * @param glob the keys to return; some may be returned twice
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
