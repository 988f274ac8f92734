package io.holdfast.lock.consul;

import io.holdfast.lock.spi.Claim;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/** A session at Consul, and the attempts that live in it. Thread-safe. */
final class Session {
  /** Consul refuses what is outside these. */
  static final long TTL_SECONDS_MIN = 10;

  static final long TTL_SECONDS_MAX = 86_400;

  private final String id;
  private final long ttlNanos;
  private final boolean own;
  private final ConcurrentHashMap<String, Attempt> attempts = new ConcurrentHashMap<>();

  private final ReentrantLock mutex = new ReentrantLock();
  // Under the mutex.
  private boolean retired;

  private volatile boolean lost;

  /** When the last request was sent that Consul answered by "it lives". */
  private volatile long renewedNanos;

  private volatile long usedNanos;
  private volatile long forcedIndex;

  /** @param own whether it is one attempt's alone */
  Session(String id, long ttlSeconds, boolean own, long sentNanos) {
    this.id = id;
    this.ttlNanos = TimeUnit.SECONDS.toNanos(ttlSeconds);
    this.own = own;
    this.renewedNanos = sentNanos;
    this.usedNanos = sentNanos;
  }

  /**
   * The shortest of some rough steps (10, 15, 20, 30, 40, 60, ... s) that is no shorter, so that a
   * client needs few sessions however many TTLs it uses.
   */
  static long ttlSeconds(long wantedNanos) {
    long ttlSeconds = TTL_SECONDS_MIN;
    while (TimeUnit.SECONDS.toNanos(ttlSeconds) < wantedNanos && ttlSeconds < TTL_SECONDS_MAX) {
      boolean evenStep = Long.bitCount(ttlSeconds / 5) == 1;
      ttlSeconds = evenStep ? ttlSeconds / 2 * 3 : ttlSeconds / 3 * 4;
    }
    return Math.min(ttlSeconds, TTL_SECONDS_MAX);
  }

  String id() {
    return id;
  }

  long ttlNanos() {
    return ttlNanos;
  }

  boolean isOwn() {
    return own;
  }

  boolean isLost() {
    return lost;
  }

  void markLost() {
    lost = true;
  }

  long renewedNanos() {
    return renewedNanos;
  }

  long usedNanos() {
    return usedNanos;
  }

  /** What {@link Keys#forced} was at, when the attempts were last looked at. */
  long forcedIndex() {
    return forcedIndex;
  }

  void forcedIndex(long index) {
    forcedIndex = index;
  }

  /** Consul said that it lives, in answer to a request that was sent at that moment. */
  void renewed(long sentNanos) {
    mutex.lock();
    try {
      if (sentNanos - renewedNanos > 0) {
        renewedNanos = sentNanos;
      }
    } finally {
      mutex.unlock();
    }
  }

  /** Until when a claim may be held that was confirmed by a request that was sent then. */
  long until(long sentNanos, Claim claim) {
    long byClaim = sentNanos + claim.ttl().toNanos();
    long bySession = renewedNanos + ttlNanos;
    return byClaim - bySession < 0 ? byClaim : bySession;
  }

  /** Takes an attempt in; false: it takes none any more. */
  boolean add(Attempt attempt) {
    mutex.lock();
    try {
      if (retired) {
        return false;
      }
      attempts.put(attempt.claim().attemptId(), attempt);
      return true;
    } finally {
      mutex.unlock();
    }
  }

  void remove(Attempt attempt, long nowNanos) {
    attempts.remove(attempt.claim().attemptId());
    usedNanos = nowNanos;
  }

  /** Lets nobody in any more, if nobody is in. */
  boolean retireIfUnused() {
    mutex.lock();
    try {
      if (attempts.isEmpty()) {
        retired = true;
      }
      return retired;
    } finally {
      mutex.unlock();
    }
  }

  Collection<Attempt> attempts() {
    return List.copyOf(attempts.values());
  }

  boolean isUnused() {
    return attempts.isEmpty();
  }
}
