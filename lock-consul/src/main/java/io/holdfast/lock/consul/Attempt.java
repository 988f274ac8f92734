package io.holdfast.lock.consul;

import io.holdfast.lock.spi.Claim;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** A claim that has a key at Consul, or may have: what this client knows of it. Thread-safe. */
final class Attempt {
  /**
   * How much longer than a TTL an attempt waits without a sign of whoever waits with it, who comes
   * by more often than that.
   */
  private static final long UNSEEN_NANOS = 2 * ConsulTicket.RECHECK_AFTER.toNanos();

  private enum Phase {
    ASKING,
    HELD,
    OVER
  }

  private final Claim claim;
  private final Session session;
  private final String key;
  private final long overBefore;
  private final long indexBefore;
  private final Instant asked;

  // All under the monitor.
  private Phase phase = Phase.ASKING;
  /** When its TTL is over; of one that asks, when nobody can want it any more. */
  private long endNanos;
  /** The same, or when its session may end, if that is sooner. */
  private long expiresAtNanos;

  private final AtomicBoolean freed = new AtomicBoolean();

  private volatile int renewedWith;
  private volatile long number;
  private volatile @Nullable ConsulGrant grant;
  private volatile @Nullable Runnable wakeUp;
  private volatile boolean releaseSent;

  /** One with a key of its own. */
  Attempt(Claim claim, Session session, String key, long nowNanos, long askedWallMillis) {
    this(claim, session, key, 0, 0, nowNanos, askedWallMillis);
  }

  /** One with a key that served another attempt of this client before. */
  Attempt(
      Claim claim, Session session, SpareKeys.Spare spare, long nowNanos, long askedWallMillis) {
    this(claim, session, spare.key(), spare.over(), spare.index(), nowNanos, askedWallMillis);
  }

  private Attempt(
      Claim claim,
      Session session,
      String key,
      long overBefore,
      long indexBefore,
      long nowNanos,
      long askedWallMillis) {
    this.claim = claim;
    this.session = session;
    this.key = key;
    this.overBefore = overBefore;
    this.indexBefore = indexBefore;
    this.asked = Instant.ofEpochMilli(askedWallMillis);
    seen(nowNanos);
  }

  Claim claim() {
    return claim;
  }

  Session session() {
    return session;
  }

  String key() {
    return key;
  }

  /** The number of the attempt that had the key before; zero: none had. */
  long overBefore() {
    return overBefore;
  }

  /** The key's index before this attempt; zero: there was no such key. */
  long indexBefore() {
    return indexBefore;
  }

  Instant asked() {
    return asked;
  }

  /** Which part of its session's attempts it is renewed with. */
  int renewedWith() {
    return renewedWith;
  }

  void renewedWith(int part) {
    renewedWith = part;
  }

  /** The index at which its key was locked for it; zero: not known, or not yet. */
  long number() {
    return number;
  }

  void joined(long index) {
    number = index;
  }

  @Nullable
  ConsulGrant grant() {
    return grant;
  }

  /** What its key's flags are to be when it is marked as over. */
  long flagsOfEnd() {
    return grant == null ? 0 : Line.HAD_LOCK;
  }

  void onNews(Runnable run) {
    wakeUp = run;
  }

  void wake() {
    Runnable run = wakeUp;
    if (run != null) {
      run.run();
    }
  }

  /** A release was sent, and may have got through. */
  void noteRelease() {
    releaseSent = true;
  }

  boolean mayBeReleased() {
    return releaseSent;
  }

  /** Whoever waits with it was there at that moment. */
  synchronized void seen(long nowNanos) {
    if (phase == Phase.ASKING) {
      endNanos = nowNanos + claim.ttl().toNanos() + UNSEEN_NANOS;
      expiresAtNanos = endNanos;
    }
  }

  /** The lock is this attempt's since a request that was sent at that moment; null: it is over. */
  @Nullable
  ConsulGrant hold(long sentNanos) {
    long grantedEndNanos = sentNanos + claim.ttl().toNanos();
    long untilNanos = session.until(grantedEndNanos);
    ConsulGrant granted = new ConsulGrant(this, number, untilNanos - sentNanos);
    synchronized (this) {
      if (phase == Phase.OVER) {
        return null;
      }
      phase = Phase.HELD;
      endNanos = grantedEndNanos;
      expiresAtNanos = untilNanos;
    }
    grant = granted;
    return granted;
  }

  /**
   * Goes on for at least that long from a request that was sent at that moment and that proved it,
   * and its session, to be alive; zero: for as long as it was to last before. Never shortens it.
   *
   * @return for how long it is held, counted from that moment; empty: it is over by now
   */
  synchronized Optional<Duration> extend(long sentNanos, Duration ttl, long nowNanos) {
    long wantedEndNanos = sentNanos + ttl.toNanos();
    if (phase != Phase.HELD || nowNanos - expiresAtNanos >= 0) {
      return Optional.empty();
    }
    if (wantedEndNanos - endNanos > 0) {
      endNanos = wantedEndNanos;
    }
    expiresAtNanos = session.until(endNanos);
    return Optional.of(Duration.ofNanos(expiresAtNanos - sentNanos));
  }

  /** For how long it is held yet; zero or less: no more. */
  synchronized long leftNanos(long nowNanos) {
    return phase == Phase.HELD ? expiresAtNanos - nowNanos : 0;
  }

  /** Ends it if its time is over and nobody noticed yet. */
  synchronized boolean expire(long nowNanos) {
    if (phase == Phase.OVER || nowNanos - expiresAtNanos < 0) {
      return false;
    }
    phase = Phase.OVER;
    return true;
  }

  synchronized void end() {
    phase = Phase.OVER;
  }

  /** Whether its key is certainly given up, and may be another attempt's. */
  boolean isFreed() {
    return freed.get();
  }

  /** Its key is certainly given up; true for one caller, who may then let another have it. */
  boolean setFreed() {
    return freed.compareAndSet(false, true);
  }
}
