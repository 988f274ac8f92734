package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.StoreException;
import java.util.List;
import java.util.Set;
import redis.clients.jedis.Connection;
import redis.clients.jedis.util.Pool;

/**
 * A page of a server's keys.
 *
 * @param next the cursor of the next page
 * @param locks the locks of the range that was looked for; some may be on two pages
 */
record Page(String next, Set<LockKey> locks) {
  static final String FIRST = "0";

  /** The number of keys that are scanned at once; the server does nothing else meanwhile. */
  private static final int SCANNED_AT_ONCE = 1_000;

  /** Scans a part of a server's keys; takes a short time, however many keys there are. */
  static Page scan(
      Server server, Pool<Connection> pool, String from, NameRange names, Deadline deadline)
      throws StoreException {
    if (deadline.isOver()) {
      throw StoreException.refused("The time was over before all keys were looked through", null);
    }
    List<Object> arguments = List.of(from, names.glob(), SCANNED_AT_ONCE);
    Call scan = new Call(Script.SCAN, List.of(), arguments, false, null);
    Object reply = server.run(pool, scan, deadline);
    if (reply instanceof List<?> both && both.size() == 2 && both.get(1) instanceof List<?> keys) {
      return new Page(Reply.text(both.get(0)), names.in(keys));
    }
    throw Reply.noAnswer(reply);
  }
}
