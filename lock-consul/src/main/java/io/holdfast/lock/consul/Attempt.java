package io.holdfast.lock.consul;

import io.holdfast.lock.spi.Claim;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** A claim that has a key at Consul, or may have: what this client knows of it. Thread-safe. */
final class Attempt {
  private enum Phase {
    ASKING,
    HELD,
    OVER
  }

  private final Claim claim;
  private final Session session;
  private final String key;

  private final ReentrantLock mutex = new ReentrantLock();
  // All under the mutex.
  private Phase phase = Phase.ASKING;
  private long confirmedNanos;
  private long expiresAtNanos;

  private volatile @Nullable ConsulGrant grant;
  private volatile @Nullable Runnable wakeUp;
  private volatile boolean releaseSent;
  private volatile boolean keySpoilt;

  Attempt(Claim claim, Session session, String key) {
    this.claim = claim;
    this.session = session;
    this.key = key;
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
    keySpoilt = true;
  }

  boolean isKeySpoilt() {
    return keySpoilt;
  }

  /** A release was sent, and may have got through. */
  void noteRelease() {
    releaseSent = true;
    keySpoilt = true;
  }

  boolean mayBeReleased() {
    return releaseSent;
  }

  /** The lock is this attempt's since a request that was sent at that moment. */
  ConsulGrant hold(long number, long sentNanos) {
    long untilNanos = session.until(sentNanos, claim);
    ConsulGrant granted = new ConsulGrant(this, number, untilNanos - sentNanos);
    mutex.lock();
    try {
      phase = Phase.HELD;
      confirmedNanos = sentNanos;
      expiresAtNanos = untilNanos;
    } finally {
      mutex.unlock();
    }
    grant = granted;
    return granted;
  }

  /** Goes on from a request that was sent at that moment, unless it is over by now. */
  boolean extend(long sentNanos, long nowNanos) {
    mutex.lock();
    try {
      if (phase != Phase.HELD || nowNanos - expiresAtNanos >= 0) {
        return false;
      }
      long untilNanos = session.until(sentNanos, claim);
      if (untilNanos - expiresAtNanos > 0) {
        confirmedNanos = sentNanos;
        expiresAtNanos = untilNanos;
      }
      return true;
    } finally {
      mutex.unlock();
    }
  }

  /**
   * For how long it is held yet, now that its session was renewed: not beyond its TTL, but the
   * session may have been about to end before that. Zero or less: no more.
   */
  long reviewedLeftNanos(long nowNanos) {
    mutex.lock();
    try {
      if (phase == Phase.HELD && nowNanos - expiresAtNanos < 0) {
        expiresAtNanos = session.until(confirmedNanos, claim);
      }
    } finally {
      mutex.unlock();
    }
    return leftNanos(nowNanos);
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
      keySpoilt = true;
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
