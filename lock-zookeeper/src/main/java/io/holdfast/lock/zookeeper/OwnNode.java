package io.holdfast.lock.zookeeper;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.holdfast.lock.spi.Claim;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import org.apache.zookeeper.ZooKeeper;
import org.jspecify.annotations.Nullable;

/**
 * The node of one attempt of this client, from before its creation is requested until it is known
 * to be gone.
 *
 * <p>Threads: any. Nothing blocks while the monitor is held.
 */
final class OwnNode {
  private final Claim claim;
  private final String parent;
  private final String prefix;
  private final int permit;

  // May be read without the monitor: set once, or an older value will do.
  private volatile Wire.@Nullable Made made;
  private volatile boolean twin;
  private volatile @Nullable ZooKeeper handle;
  private volatile @Nullable ZooKeeperGrant grant;

  @GuardedBy("this")
  private boolean wanted = true;

  @GuardedBy("this")
  private boolean deletionSent;

  @GuardedBy("this")
  private boolean cleaning;

  @GuardedBy("this")
  private long ttlEndsNanos;

  @GuardedBy("this")
  private long holdEndsNanos;

  @GuardedBy("this")
  private boolean holds;

  /**
   * Makes the entry of a node that is about to be created.
   *
   * @param prefix its name, to which ZooKeeper appends the sequence number; no other attempt has it
   * @param permit the permit that it wants; 0 if it wants none, or the lock has none
   */
  OwnNode(Claim claim, String parent, String prefix, int permit) {
    this.claim = claim;
    this.parent = parent;
    this.prefix = prefix;
    this.permit = permit;
  }

  Claim claim() {
    return claim;
  }

  String parent() {
    return parent;
  }

  /** Returns its name without the sequence number. */
  String prefix() {
    return prefix;
  }

  int permit() {
    return permit;
  }

  /** Returns the path of the mark that its grant leaves if the lock must stay taken. */
  String markPath() {
    String name = switch (claim.key().kind()) {
      case MUTEX -> Names.ofMark(czxid());
      case READ -> Names.ofReadersMark(czxid());
      case PERMIT -> Names.ofMark(czxid(), permit);
    };
    return parent + "/" + name;
  }

  /** Notes that ZooKeeper created the node, in the session of this handle. */
  void made(Wire.Made node, ZooKeeper zk) {
    handle = zk;
    made = node;
  }

  /**
   * Notes that its creation was sent again without an answer to the first request, so that a
   * duplicate may exist.
   */
  void mayHaveTwin() {
    twin = true;
  }

  boolean hasTwin() {
    return twin;
  }

  /** Returns the path, or null if the node was not created or its path is not known. */
  @Nullable
  String pathIfMade() {
    Wire.Made now = made;
    return now == null ? null : now.path();
  }

  String path() {
    return Objects.requireNonNull(pathIfMade(), "not made");
  }

  String name() {
    return path().substring(parent.length() + 1);
  }

  long czxid() {
    return Objects.requireNonNull(made).stat().getCzxid();
  }

  /** Returns the time of its creation, by the leader's clock. */
  Instant since() {
    return Instant.ofEpochMilli(Objects.requireNonNull(made).stat().getCtime());
  }

  /** Returns the session that it belongs to, or 0 if that is not known. */
  long session() {
    Wire.Made now = made;
    return now == null ? 0 : now.stat().getEphemeralOwner();
  }

  /** Returns the current timeout of its session, which each reconnect negotiates anew. */
  Duration sessionTimeout() {
    ZooKeeper zk = handle;
    return zk == null ? Duration.ZERO : Duration.ofMillis(zk.getSessionTimeout());
  }

  /**
   * Makes it a grant, until the TTL has passed without a renewal.
   *
   * @param trusted the time for which the session is certain to live
   * @return the grant, or null if the node is to be deleted already
   */
  @Nullable
  synchronized ZooKeeperGrant grant(long nowNanos, Duration trusted) {
    if (!wanted) {
      return null;
    }
    ttlEndsNanos = nowNanos + claim.ttl().toNanos();
    ZooKeeperGrant granted = new ZooKeeperGrant(claim, this, trusted);
    grant = granted;
    return granted;
  }

  /** Whether it ever became a grant. */
  boolean wasGranted() {
    return grant != null;
  }

  @Nullable
  ZooKeeperGrant grantIfAny() {
    return isWanted() ? grant : null;
  }

  /** Restarts the TTL; false if it is over, and the node is being deleted. */
  synchronized boolean extend(long nowNanos) {
    if (wanted) {
      ttlEndsNanos = nowNanos + claim.ttl().toNanos();
    }
    return wanted;
  }

  /**
   * Moves the end of the TTL later.
   *
   * @param untilNanos the earliest time at which it may end
   * @return false if it is over already
   */
  synchronized boolean extendTo(long untilNanos, long nowNanos) {
    boolean stands = wanted && ttlEndsNanos - nowNanos > 0;
    if (stands && untilNanos - ttlEndsNanos > 0) {
      ttlEndsNanos = untilNanos;
    }
    return stands;
  }

  /** Returns the time left of the TTL; zero if it is over, and the node is being deleted. */
  synchronized Duration ttlLeft(long nowNanos) {
    return wanted ? Duration.ofNanos(Math.max(0, ttlEndsNanos - nowNanos)) : Duration.ZERO;
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

  /** Notes that a deletion is sent; returns whether one was sent before without an answer. */
  synchronized boolean deletionSent() {
    boolean before = deletionSent;
    deletionSent = true;
    return before;
  }

  synchronized void deletionAnswered() {
    deletionSent = false;
  }

  /** Begins the clean-up; false if another thread is at it. */
  synchronized boolean beginCleaning() {
    boolean idle = !cleaning;
    cleaning = true;
    return idle;
  }

  synchronized void endCleaning() {
    cleaning = false;
  }
}
