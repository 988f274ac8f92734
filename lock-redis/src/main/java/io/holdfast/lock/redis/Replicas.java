package io.holdfast.lock.redis;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * How many replicas must have a grant before it counts, and how long that may take.
 *
 * <p>{@code WAIT} asks about what was written on its own connection. Replication is one stream, so
 * a replica that has that has all before it: the script that confirms a lock that was handed over
 * extends it, and so the hand-over is covered as well, though it was written on another connection.
 */
record Replicas(int count, Duration timeout) {
  private static final int COUNT_MAX = 100;
  private static final Duration TIMEOUT_MIN = Duration.ofMillis(1);

  /** Of the store timeout, the rest is left for the script, and for what it takes to fail. */
  private static final int PARTS_OF_STORE_TIMEOUT = 2;

  static Replicas of(int count, Duration timeout) {
    if (count < 1 || count > COUNT_MAX) {
      throw new IllegalArgumentException("The number of replicas to wait for must be 1 to "
          + COUNT_MAX
          + ", was "
          + count
          + "; to wait for none, leave the setting out");
    }
    if (timeout.compareTo(TIMEOUT_MIN) < 0) {
      throw new IllegalArgumentException(
          "The time to wait for replicas must be at least " + TIMEOUT_MIN + ", was " + timeout);
    }
    return new Replicas(count, timeout);
  }

  void check(Duration storeTimeout) {
    Duration max = storeTimeout.dividedBy(PARTS_OF_STORE_TIMEOUT);
    if (timeout.compareTo(max) > 0) {
      throw new IllegalArgumentException("The time to wait for replicas, "
          + timeout
          + ", must be at most half of the store timeout of "
          + storeTimeout
          + ": take at most "
          + max
          + ", or a longer storeTimeout");
    }
  }

  /**
   * Returns when enough of them have what was last written on this connection.
   *
   * @throws StoreException they have not, or it is not known; the grant is there
   */
  void await(Connection connection, Deadline deadline) throws StoreException {
    int leftMillis = deadline.leftMillis();
    // To Redis, 0 means for ever.
    long waitMillis =
        Math.max(1, Math.min(Keys.millisUp(timeout), leftMillis / PARTS_OF_STORE_TIMEOUT));
    int usualMillis = connection.getSoTimeout();
    connection.setSoTimeout(leftMillis);
    Object reply;
    try {
      reply = connection.executeCommand(
          new CommandArguments(Protocol.Command.WAIT).add(count).add(waitMillis));
    } catch (JedisDataException e) {
      // It may be the primary no more.
      connection.setBroken();
      throw StoreException.unanswered(
          "The lock was granted, but whether replicas have it is not known: "
              + Failures.answered(e).getMessage(),
          e);
    }
    connection.setSoTimeout(usualMillis);
    if (!(reply instanceof Long confirmed && confirmed >= count)) {
      throw StoreException.unanswered(
          "The lock was granted, but only "
              + reply
              + " of "
              + count
              + " replica(s) confirmed it within "
              + waitMillis
              + " ms; the grant is withdrawn",
          null);
    }
  }
}
