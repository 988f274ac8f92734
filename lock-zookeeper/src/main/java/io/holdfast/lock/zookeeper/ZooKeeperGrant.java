package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.PermitGrant;
import java.time.Duration;

/**
 * A grant that a node stands for.
 *
 * @param validFor the TTL, or the time for which the session is certain to live
 */
record ZooKeeperGrant(Claim claim, OwnNode node, Duration validFor) implements PermitGrant {
  @Override
  public long number() {
    return node.number();
  }

  @Override
  public int permit() {
    return node.permit();
  }

  /**
   * Returns one and a half session timeouts, since the server rounds a timeout of at least two
   * ticks up to the next tick.
   */
  @Override
  public Duration crashBound(Duration ttl) {
    return node.sessionTimeout().plus(node.sessionTimeout().dividedBy(2));
  }

  @Override
  public String toString() {
    return node.path() + " as grant " + number();
  }
}
