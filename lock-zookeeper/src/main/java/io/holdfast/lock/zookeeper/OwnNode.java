package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Claim;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.zookeeper.ZooKeeper;
import org.jspecify.annotations.Nullable;

/**
 * The node of one attempt of this client, from before its creation is requested until it is known
 * to be gone.
 *
 * <p>Threads: any. Mutable state is guarded by a mutex, under which nothing blocks.
 */
final class OwnNode {
  private final Claim claim;
  private final String parent;
  private final ReentrantLock mutex = new ReentrantLock();
  // May be read without the mutex: set once, or an older value will do.
  private volatile Wire.@Nullable Made made;
  private volatile boolean twin;
  private volatile @Nullable ZooKeeper handle;
  private volatile @Nullable ZooKeeperGrant grant;
  // All fields below are guarded by the mutex.
  private boolean wanted = true;
  private boolean deletionSent;
  private boolean cleaning;
  private long ttlEndsNanos;
  private long holdEndsNanos;
  private boolean holds;

  OwnNode(Claim claim, String parent) {
    this.claim = claim;
    this.parent = parent;
  }

  Claim claim() {
    return claim;
  }

  String parent() {
    return parent;
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

  /** Whether the handle of its session was closed. */
  boolean isHandleClosed() {
    ZooKeeper zk = handle;
    return zk != null && !zk.getState().isAlive();
  }

  /**
   * Makes it a grant, until the TTL has passed without a renewal.
   *
   * @param trusted the time for which the session is certain to live
   * @return the grant, or null if the node is to be deleted already
   */
  @Nullable
  ZooKeeperGrant grant(long nowNanos, Duration trusted) {
    boolean granted = locked(() -> {
      if (wanted) {
        ttlEndsNanos = nowNanos + claim.ttl().toNanos();
        grant = new ZooKeeperGrant(claim, this, trusted);
      }
      return wanted;
    });
    return granted ? grant : null;
  }

  /** Whether it ever became a grant. */
  boolean wasGranted() {
    return grant != null;
  }

  /** Returns the grant while it stands; null before that, and once the node is given up. */
  @Nullable
  ZooKeeperGrant grantIfAny() {
    return isWanted() ? grant : null;
  }

  /** Restarts the TTL; false if it is over, and the node is being deleted. */
  boolean extend(long nowNanos) {
    return locked(() -> {
      if (wanted) {
        ttlEndsNanos = nowNanos + claim.ttl().toNanos();
      }
      return wanted;
    });
  }

  /**
   * Moves the end of the TTL later.
   *
   * @param untilNanos the earliest time at which it may end
   * @return false if it is over already
   */
  boolean extendTo(long untilNanos, long nowNanos) {
    return locked(() -> {
      boolean stands = wanted && ttlEndsNanos - nowNanos > 0;
      if (stands && untilNanos - ttlEndsNanos > 0) {
        ttlEndsNanos = untilNanos;
      }
      return stands;
    });
  }

  /** Returns the time left of the TTL; zero if it is over, and the node is being deleted. */
  Duration ttlLeft(long nowNanos) {
    return locked(
        () -> wanted ? Duration.ofNanos(Math.max(0, ttlEndsNanos - nowNanos)) : Duration.ZERO);
  }

  /** Ends the grant if its TTL is over. */
  void expireAt(long nowNanos) {
    locked(() -> {
      if (grant != null && ttlEndsNanos - nowNanos <= 0) {
        wanted = false;
      }
      return true;
    });
  }

  /** Gives the node up; it is deleted even if its creation is confirmed late. */
  void abandon() {
    locked(() -> {
      wanted = false;
      return true;
    });
  }

  /** Gives the node up, but keeps the name taken for this time. */
  void release(long nowNanos, Duration holdFor) {
    locked(() -> {
      wanted = false;
      holds = !holdFor.isZero();
      holdEndsNanos = nowNanos + holdFor.toNanos();
      return true;
    });
  }

  Duration holdLeft(long nowNanos) {
    return locked(
        () -> holds ? Duration.ofNanos(Math.max(0, holdEndsNanos - nowNanos)) : Duration.ZERO);
  }

  boolean isWanted() {
    return locked(() -> wanted);
  }

  /** Notes that a deletion is sent; returns whether one was sent before without an answer. */
  boolean deletionSent() {
    return locked(() -> {
      boolean before = deletionSent;
      deletionSent = true;
      return before;
    });
  }

  void deletionAnswered() {
    locked(() -> {
      deletionSent = false;
      return true;
    });
  }

  /** Begins the clean-up; false if another thread is at it. */
  boolean beginCleaning() {
    return locked(() -> {
      boolean idle = !cleaning;
      cleaning = true;
      return idle;
    });
  }

  void endCleaning() {
    locked(() -> {
      cleaning = false;
      return true;
    });
  }

  private interface Body<T> {
    T run();
  }

  private <T> T locked(Body<T> body) {
    mutex.lock();
    try {
      return body.run();
    } finally {
      mutex.unlock();
    }
  }
}
