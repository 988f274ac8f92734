package io.holdfast.lock.consul;

import io.holdfast.lock.spi.Claim;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** A claim that has a key at Consul, or may have: what this client knows of it. Thread-safe. */
final class Attempt {
  private enum Phase {
    ASKING,
    HELD,
    OVER
  }

  /** Whose its key is. */
  private enum KeyUse {
    /** This attempt's; another may have it afterwards. */
    OWN,
    /** This attempt's for ever: a request about it may still be on its way. */
    SPOILT,
    /** Another attempt's by now, or soon. */
    GIVEN
  }

  private final Claim claim;
  private final Session session;
  private final String key;
  private final Instant asked;

  private final ReentrantLock mutex = new ReentrantLock();
  // All under the mutex.
  private Phase phase = Phase.ASKING;
  /** When its TTL is over. */
  private long endNanos;
  /** The same, or when its session may end, if that is sooner. */
  private long expiresAtNanos;

  private final AtomicReference<KeyUse> keyUse = new AtomicReference<>(KeyUse.OWN);

  private volatile @Nullable ConsulGrant grant;
  private volatile @Nullable Runnable wakeUp;
  private volatile boolean releaseSent;

  /** @param askedWallMillis when it began, by the wall clock */
  Attempt(Claim claim, Session session, String key, long askedWallMillis) {
    this.claim = claim;
    this.session = session;
    this.key = key;
    this.asked = Instant.ofEpochMilli(askedWallMillis);
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

  Instant asked() {
    return asked;
  }

  @Nullable
  ConsulGrant grant() {
    return grant;
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

  /**
   * A request about the key may still be on its way when the attempt is over, so that no other
   * attempt may have the key.
   */
  void spoilKey() {
    boolean unused = keyUse.compareAndSet(KeyUse.OWN, KeyUse.SPOILT);
  }

  /** The key was deleted, so that another attempt may have it; false: none may. */
  boolean giveKey() {
    return keyUse.compareAndSet(KeyUse.OWN, KeyUse.GIVEN);
  }

  /** Whether the key must not be touched any more, since it may be another attempt's. */
  boolean isKeyGiven() {
    return keyUse.get() == KeyUse.GIVEN;
  }

  /** A release was sent, and may have got through. */
  void noteRelease() {
    releaseSent = true;
    spoilKey();
  }

  boolean mayBeReleased() {
    return releaseSent;
  }

  /** The lock is this attempt's since a request that was sent at that moment. */
  ConsulGrant hold(long number, long sentNanos) {
    long grantedEndNanos = sentNanos + claim.ttl().toNanos();
    long untilNanos = session.until(grantedEndNanos);
    ConsulGrant granted = new ConsulGrant(this, number, untilNanos - sentNanos);
    mutex.lock();
    try {
      phase = Phase.HELD;
      endNanos = grantedEndNanos;
      expiresAtNanos = untilNanos;
    } finally {
      mutex.unlock();
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
  Optional<Duration> extend(long sentNanos, Duration ttl, long nowNanos) {
    long wantedEndNanos = sentNanos + ttl.toNanos();
    mutex.lock();
    try {
      if (phase != Phase.HELD || nowNanos - expiresAtNanos >= 0) {
        return Optional.empty();
      }
      if (wantedEndNanos - endNanos > 0) {
        endNanos = wantedEndNanos;
      }
      expiresAtNanos = session.until(endNanos);
      return Optional.of(Duration.ofNanos(expiresAtNanos - sentNanos));
    } finally {
      mutex.unlock();
    }
  }

  /** For how long it is held yet; zero or less: no more. */
  long leftNanos(long nowNanos) {
    mutex.lock();
    try {
      return phase == Phase.HELD ? expiresAtNanos - nowNanos : 0;
    } finally {
      mutex.unlock();
    }
  }

  /** Whether its time is over and nobody noticed yet. */
  boolean expire(long nowNanos) {
    mutex.lock();
    try {
      if (phase != Phase.HELD || nowNanos - expiresAtNanos < 0) {
        return false;
      }
      phase = Phase.OVER;
      // Somebody will delete the key, some time.
      spoilKey();
      return true;
    } finally {
      mutex.unlock();
    }
  }

  void end() {
    mutex.lock();
    try {
      phase = Phase.OVER;
    } finally {
      mutex.unlock();
    }
  }
}
