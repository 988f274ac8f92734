package io.holdfast.lock.redis.server;

import io.holdfast.lock.spi.Deadline;
import io.holdfast.lock.spi.StoreException;
import java.time.Duration;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * The number of replicas that must have a grant before it counts, and the longest time to wait for
 * them.
 *
 * <p>{@code WAIT} concerns only what was written on its own connection. But replication is one
 * stream, so a replica that has a write also has all earlier ones. A lock that was handed over is
 * confirmed by a script that extends it, so the hand-over is covered too, although it was written
 * on another connection.
 */
public record Replicas(int count, Duration timeout) {
  private static final int COUNT_MAX = 100;
  private static final Duration TIMEOUT_MIN = Duration.ofMillis(1);

  /**
   * At most the store timeout divided by this may be spent on replicas. The rest is left for the
   * script, and for failing in time.
   */
  private static final int PARTS_OF_STORE_TIMEOUT = 2;

  /**
   * Checks the range of each value.
   *
   * @throws IllegalArgumentException a value is out of range
   */
  public Replicas {
    if (count < 1 || count > COUNT_MAX) {
      throw new IllegalArgumentException(
          ("The number of replicas to wait for must be 1 to %s, was %s; to wait for none, leave the"
                  + " setting out")
              .formatted(COUNT_MAX, count));
    }
    if (timeout.compareTo(TIMEOUT_MIN) < 0) {
      throw new IllegalArgumentException(
          "The time to wait for replicas must be at least " + TIMEOUT_MIN + ", was " + timeout);
    }
  }

  /**
   * Checks that enough of the store timeout is left for the rest of a call.
   *
   * @throws IllegalArgumentException it is not
   */
  public void check(Duration storeTimeout) {
    Duration max = storeTimeout.dividedBy(PARTS_OF_STORE_TIMEOUT);
    if (timeout.compareTo(max) > 0) {
      throw new IllegalArgumentException(
          ("The time to wait for replicas, %s, must be at most half of the store timeout of %s: take"
                  + " at most %s, or a longer storeTimeout")
              .formatted(timeout, storeTimeout, max));
    }
  }

  /**
   * Waits until enough replicas have what was last written on this connection.
   *
   * @throws StoreException they do not have it, or that is not known; the primary has the grant
   */
  void await(Connection connection, Deadline deadline) throws StoreException {
    // To Redis, 0 means no limit.
    long waitMillis = Math.max(
        1, Math.min(Keys.millisUp(timeout), deadline.leftMillis() / PARTS_OF_STORE_TIMEOUT));
    CommandArguments wait =
        new CommandArguments(Protocol.Command.WAIT).add(count).add(waitMillis);
    Object reply;
    try {
      reply = Wire.inTime(connection, deadline, timed -> timed.executeCommand(wait));
    } catch (JedisDataException e) {
      // It may no longer be the primary.
      connection.setBroken();
      throw StoreException.unanswered(
          "The lock was granted, but whether replicas have it is not known: "
              + Failures.answered(e).getMessage(),
          e);
    }
    if (!(reply instanceof Long confirmed && confirmed >= count)) {
      throw StoreException.unanswered(
          ("The lock was granted, but only %s of %s replica(s) confirmed it within %s ms; the grant"
                  + " is withdrawn")
              .formatted(reply, count, waitMillis),
          null);
    }
  }
}
