package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Claim;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;

/**
 * The node of one attempt of this client, from before its creation is requested until it is known
 * to be gone.
 *
 * <p>Threads: any. The monitor guards mutable state; nothing blocks while it is held.
 */
final class OwnNode {
  final Claim claim;
  final String parent;

  /** Whether a release or the clean-up is at work on it; the clean-up then keeps off. */
  final AtomicBoolean inUse = new AtomicBoolean();

  /**
   * Whether a release has sent a deletion, or is about to, that is not answered yet. The clean-up's
   * deletions do not count.
   */
  final AtomicBoolean releaseSent = new AtomicBoolean();

  /**
   * Whether another node of the attempt may exist: its creation was sent again without an answer to
   * the first request, or it is being replaced or renamed.
   */
  volatile boolean mayHaveTwin;

  // May be read without the monitor: an older value will do.
  private volatile @Nullable Made made;
  private volatile @Nullable ZooKeeperGrant grant;
  // All fields below are guarded by the monitor.
  private boolean wanted = true;
  private long ttlEndsNanos;
  private long holdEndsNanos;
  private boolean holds;

  OwnNode(Claim claim, String parent) {
    this.claim = claim;
    this.parent = parent;
  }

  /**
   * The node as ZooKeeper created it, in the session of this handle.
   *
   * @param stat that of its creation, also if it was renamed
   * @param permit the permit in its name; {@link Names#NO_PERMIT}: none
   */
  record Made(ZooKeeper zk, String path, Stat stat, int permit) {}

  void noteMade(Made node) {
    made = node;
  }

  /** Notes that the node has got another path, and a permit. */
  void noteRenamed(String path, int permit) {
    Made before = Objects.requireNonNull(made);
    made = new Made(before.zk(), path, before.stat(), permit);
  }

  /** Returns the path, or null if the node was not created or its path is not known. */
  @Nullable
  String pathIfMade() {
    Made now = made;
    return now == null ? null : now.path();
  }

  String path() {
    return Objects.requireNonNull(pathIfMade(), "not made");
  }

  String name() {
    return path().substring(parent.length() + 1);
  }

  /** Returns the permit in its name, or {@link Names#NO_PERMIT}. */
  int permit() {
    return Objects.requireNonNull(made).permit();
  }

  /** Returns the number of its grant: the {@code czxid} of its creation. */
  long number() {
    return Objects.requireNonNull(made).stat().getCzxid();
  }

  /** Returns the time of its creation, by the leader's clock. */
  Instant since() {
    return Instant.ofEpochMilli(Objects.requireNonNull(made).stat().getCtime());
  }

  /** Returns the session that it belongs to, or 0 if that is not known. */
  long session() {
    Made now = made;
    return now == null ? 0 : now.stat().getEphemeralOwner();
  }

  /** Returns the current timeout of its session, which each reconnect negotiates anew. */
  Duration sessionTimeout() {
    Made now = made;
    return now == null ? Duration.ZERO : Duration.ofMillis(now.zk().getSessionTimeout());
  }

  /** Whether the handle of its session was closed. */
  boolean isHandleClosed() {
    Made now = made;
    return now != null && !now.zk().getState().isAlive();
  }

  /**
   * Makes it a grant, until the TTL has passed without a renewal.
   *
   * @param trusted the time for which the session is certain to live, from the engine's call on
   * @return the grant, or null if the node is to be deleted already
   */
  synchronized @Nullable ZooKeeperGrant grant(long nowNanos, Duration trusted) {
    if (!wanted) {
      return null;
    }
    ttlEndsNanos = nowNanos + claim.ttl().toNanos();
    ZooKeeperGrant granted =
        new ZooKeeperGrant(claim, this, Collections.min(List.of(claim.ttl(), trusted)));
    grant = granted;
    return granted;
  }

  /** Whether it ever became a grant. */
  boolean wasGranted() {
    return grant != null;
  }

  /** Returns the grant until the node is given up, even if its TTL has passed; null otherwise. */
  @Nullable
  ZooKeeperGrant grantIfAny() {
    return isWanted() ? grant : null;
  }

  /** Whether it was not given up, and its TTL as a grant is not over. */
  synchronized boolean stands(long nowNanos) {
    return wanted && ttlEndsNanos - nowNanos > 0;
  }

  /**
   * Moves the end of the TTL to at least this TTL from the engine's call on, unless it is over.
   *
   * @return the time left from {@code calledNanos} on; empty if it is over by now, and the node is
   *     being deleted
   */
  synchronized Optional<Duration> extend(long calledNanos, Duration ttl, long nowNanos) {
    long untilNanos = calledNanos + ttl.toNanos();
    if (!stands(nowNanos)) {
      return Optional.empty();
    }
    if (untilNanos - ttlEndsNanos > 0) {
      ttlEndsNanos = untilNanos;
    }
    return Optional.of(Duration.ofNanos(ttlEndsNanos - calledNanos));
  }

  /** Ends the grant if its TTL is over. */
  synchronized void expireAt(long nowNanos) {
    if (grant != null && ttlEndsNanos - nowNanos <= 0) {
      wanted = false;
    }
  }

  /** Gives the node up; it is deleted even if its creation is confirmed late. */
  synchronized void abandon() {
    wanted = false;
  }

  /** Gives the node up, but keeps the name taken for this time. */
  synchronized void release(long nowNanos, Duration holdFor) {
    wanted = false;
    holds = !holdFor.isZero();
    holdEndsNanos = nowNanos + holdFor.toNanos();
  }

  synchronized Duration holdLeft(long nowNanos) {
    return holds ? Duration.ofNanos(Math.max(0, holdEndsNanos - nowNanos)) : Duration.ZERO;
  }

  synchronized boolean isWanted() {
    return wanted;
  }
}
