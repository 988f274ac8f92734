package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import java.time.Duration;

/** A grant by a node. Two are equal if they are the same object. */
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

  static Duration shorter(Duration a, Duration b) {
    return a.compareTo(b) < 0 ? a : b;
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
