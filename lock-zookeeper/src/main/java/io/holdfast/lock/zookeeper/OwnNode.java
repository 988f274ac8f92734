package io.holdfast.lock.zookeeper;

import io.holdfast.lock.spi.Claim;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.zookeeper.ZooKeeper;
import org.jspecify.annotations.Nullable;

/**
 * The node of one attempt of this client, from before it is asked for until it is known to be gone.
 *
 * <p>Threads: any; what changes is guarded by a mutex, under which nothing blocks.
 */
final class OwnNode {
  private final Claim claim;
  private final String parent;
  private final ReentrantLock mutex = new ReentrantLock();
  // Read without the mutex: set once, or read for what was set before.
  private volatile Wire.@Nullable Made made;
  private volatile boolean twin;
  private volatile @Nullable ZooKeeper handle;
  private volatile @Nullable ZooKeeperGrant grant;
  // All below: under the mutex.
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

  /** ZooKeeper made the node, in the session of this handle. */
  void made(Wire.Made node, ZooKeeper zk) {
    handle = zk;
    made = node;
  }

  /** Its making was sent once more, since there was no answer. */
  void mayHaveTwin() {
    twin = true;
  }

  boolean hasTwin() {
    return twin;
  }

  /** Null: not known, or not made. */
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

  /** When it was made, by the leader's clock. */
  Instant since() {
    return Instant.ofEpochMilli(Objects.requireNonNull(made).stat().getCtime());
  }

  /** The session that it lives in; 0: not known. */
  long session() {
    Wire.Made now = made;
    return now == null ? 0 : now.stat().getEphemeralOwner();
  }

  /** The timeout of its session as it is now: each reconnect negotiates it anew. */
  Duration sessionTimeout() {
    ZooKeeper zk = handle;
    return zk == null ? Duration.ZERO : Duration.ofMillis(zk.getSessionTimeout());
  }

  /**
   * From now on it is a grant, until the TTL has passed without a renewal.
   *
   * @param trusted how long the session is sure to live yet
   * @return null: it is to be deleted already
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

  @Nullable
  ZooKeeperGrant grantIfAny() {
    return isWanted() ? grant : null;
  }

  /** Begins the TTL anew; false: it is over, and the node is being deleted. */
  boolean extend(long nowNanos) {
    return locked(() -> {
      if (wanted) {
        ttlEndsNanos = nowNanos + claim.ttl().toNanos();
      }
      return wanted;
    });
  }

  /**
   * Puts the end of the TTL off, if it is sooner.
   *
   * @param untilNanos when it is to end at the soonest
   * @return false: it is over already
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

  /** What is left of the TTL; zero: it is over, and the node is being deleted. */
  Duration ttlLeft(long nowNanos) {
    return locked(
        () -> wanted ? Duration.ofNanos(Math.max(0, ttlEndsNanos - nowNanos)) : Duration.ZERO);
  }

  /** Notes the end of its TTL. */
  void expireAt(long nowNanos) {
    locked(() -> {
      if (grant != null && ttlEndsNanos - nowNanos <= 0) {
        wanted = false;
      }
      return true;
    });
  }

  /** Nobody wants it any more, and if it comes late. */
  void abandon() {
    locked(() -> {
      wanted = false;
      return true;
    });
  }

  /** The same, but its name is to stay taken until then. */
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

  /** Notes that a deletion is sent; whether one was before, without an answer. */
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

  /** False: somebody is at it. */
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
