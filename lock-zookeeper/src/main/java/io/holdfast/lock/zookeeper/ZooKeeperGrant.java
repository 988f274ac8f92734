package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import java.time.Duration;

/**
 * A grant by a node. Two are equal if they are the same object.
 *
 * <p>How long it is good: the server counts the session's timeout from when it last heard of the
 * client, and the leader may have heard that a third of the timeout (the client's pings) and half a
 * tick (a follower's reports) before the request that we count from. Half of the timeout is safe.
 */
final class ZooKeeperGrant implements Grant {
  private final Claim claim;
  private final OwnNode node;
  private final Duration validFor;

  /**
   * A grant.
   *
   * @param trusted how long the session is sure to live yet
   */
  ZooKeeperGrant(Claim claim, OwnNode node, Duration trusted) {
    this.claim = claim;
    this.node = node;
    this.validFor = shorter(claim.ttl(), trusted);
  }

  /** How long a session of this timeout is sure to live from when a confirmed write was sent. */
  static Duration trusted(Duration sessionTimeout) {
    // On the way of each acquisition; dividedBy calculates in decimal numbers.
    return Duration.ofNanos(sessionTimeout.toNanos() / 2);
  }

  static Duration shorter(Duration a, Duration b) {
    return a.compareTo(b) < 0 ? a : b;
  }

  /** How long it is good from when a check was sent that is answered now. */
  Duration validForOnceMore(Duration ttlLeft) {
    return shorter(ttlLeft, trusted(node.sessionTimeout()));
  }

  OwnNode node() {
    return node;
  }

  @Override
  public Claim claim() {
    return claim;
  }

  @Override
  public long number() {
    return node.czxid();
  }

  @Override
  public Duration validFor() {
    return validFor;
  }

  /** The server rounds a timeout up to its next tick, of which it has at least two. */
  @Override
  public Duration crashBound() {
    return node.sessionTimeout().plus(node.sessionTimeout().dividedBy(2));
  }

  @Override
  public String toString() {
    return node.path() + " as grant " + number();
  }
}
