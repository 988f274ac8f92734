package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import java.time.Duration;

/** A grant that a node stands for. Compared by identity. */
final class ZooKeeperGrant implements Grant {
  private final Claim claim;
  private final OwnNode node;
  private final Duration validFor;

  /**
   * Makes a grant.
   *
   * @param trusted the time for which the session is certain to live
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

  /**
   * Returns one and a half session timeouts, since the server rounds a timeout of at least two
   * ticks up to the next tick.
   */
  @Override
  public Duration crashBound() {
    return node.sessionTimeout().plus(node.sessionTimeout().dividedBy(2));
  }

  @Override
  public String toString() {
    return node.path() + " as grant " + number();
  }
}
