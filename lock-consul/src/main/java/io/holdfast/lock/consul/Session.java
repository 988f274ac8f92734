package io.holdfast.lock.consul;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/** A session at Consul, and the attempts that live in it. Thread-safe. */
final class Session {
  /** Consul refuses what is outside these. */
  static final long TTL_SECONDS_MIN = 10;

  static final long TTL_SECONDS_MAX = 86_400;

  /**
   * About how many attempts are renewed together: each 64 are one request, and all have to be
   * answered within a store timeout.
   */
  private static final int RENEWED_TOGETHER_MAX = 2_048;

  private final String id;
  private final long ttlNanos;
  private final boolean own;
  private final Duration delay;
  private final ConcurrentHashMap<String, Attempt> attempts = new ConcurrentHashMap<>();

  private final ReentrantLock mutex = new ReentrantLock();
  // Under the mutex.
  private boolean retired;

  private volatile boolean lost;

  /** When the last request was sent that Consul answered by "it lives". */
  private volatile Sent renewed;

  private volatile long usedNanos;
  private volatile long noteIndex;
  private volatile long watchedUntilNanos;
  private volatile long retryNanos;
  private final AtomicInteger looks = new AtomicInteger();
  private volatile long gateIndex;
  private final AtomicLong gateWrites = new AtomicLong();
  private final SpareKeys spareKeys = new SpareKeys();

  /** When a request was sent, by both clocks. */
  record Sent(long nanos, long wallMillis) {
    static Sent now(TimeSource time) {
      // The wall clock first: a pause in between must not look as if it had run ahead.
      long wallMillis = time.wallMillis();
      return new Sent(time.nanos(), wallMillis);
    }
  }

  /**
   * @param own whether it is one attempt's alone
   * @param sent when it was asked for
   * @param madeIndex the index of {@link Keys#session} and {@link Keys#gate}, when they were made
   * @param delay for how long others leave its locks alone after it ended by itself
   */
  Session(String id, long ttlSeconds, boolean own, Sent sent, long madeIndex, Duration delay) {
    this.id = id;
    this.ttlNanos = TimeUnit.SECONDS.toNanos(ttlSeconds);
    this.own = own;
    this.delay = delay;
    this.renewed = sent;
    this.usedNanos = sent.nanos();
    this.noteIndex = madeIndex;
    this.gateIndex = madeIndex;
    this.watchedUntilNanos = sent.nanos();
    this.retryNanos = sent.nanos();
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

  /** What suits a claim. */
  static long ttlSeconds(Claim claim) {
    return ttlSeconds(Math.max(claim.ttl().toNanos(), claim.minHold().toNanos()));
  }

  /**
   * Checks that Consul has sessions for such leases.
   *
   * @throws IllegalArgumentException it has none
   */
  static void checkOptions(LockOptions options) {
    checkLength("TTL", options.ttl());
    checkLength("minHold", options.minHold());
  }

  private static void checkLength(String what, Duration length) {
    if (length.compareTo(Duration.ofSeconds(TTL_SECONDS_MAX)) > 0) {
      throw new IllegalArgumentException("A "
          + what
          + " of "
          + length
          + " is longer than Consul keeps a session: take 24 h at most (a renewed lease lives as"
          + " long as its holder does, whatever its TTL)");
    }
  }

  String id() {
    return id;
  }

  long ttlNanos() {
    return ttlNanos;
  }

  /** How long its keys can stay taken if nobody renews it: up to twice its TTL, and the delay. */
  Duration crashBound() {
    return Duration.ofNanos(2 * ttlNanos).plus(delay);
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
    return renewed.nanos();
  }

  /**
   * Whether Consul must still have it, and would have told of its end: renewed within two thirds of
   * its TTL by both clocks, since a machine that slept knows it by the wall clock alone, and
   * watched.
   */
  boolean isSure(Sent now) {
    return !lost && isWatched(now.nanos()) && isRecent(renewed, now);
  }

  /** Whether what was proved then is no older than two thirds of the TTL, by both clocks. */
  boolean isRecent(Sent then, Sent now) {
    long maxNanos = ttlNanos / 3 * 2;
    return now.nanos() - then.nanos() < maxNanos
        && TimeUnit.MILLISECONDS.toNanos(now.wallMillis() - then.wallMillis()) < maxNanos;
  }

  long usedNanos() {
    return usedNanos;
  }

  /** What {@link Keys#session} was at, when the attempts were last looked at. */
  long noteIndex() {
    return noteIndex;
  }

  void noteIndex(long index) {
    noteIndex = index;
  }

  /** What {@link Keys#gate} is at, as far as is known. */
  long gateIndex() {
    return gateIndex;
  }

  void gateIndex(long index) {
    gateIndex = index;
  }

  /** A text for {@link Keys#gate} that it never had. */
  String newGateText() {
    return "write " + gateWrites.incrementAndGet();
  }

  /** Keys for the next attempts. */
  SpareKeys spareKeys() {
    return spareKeys;
  }

  /**
   * How often it was looked who lost a key by force, those included that are under way. Whoever
   * becomes a holder while this changes may have been missed, and has to look for itself.
   */
  int looks() {
    return looks.get();
  }

  void beginLook() {
    looks.incrementAndGet();
  }

  /** Whether a long poll on {@link Keys#session} stands, as far as one can know. */
  boolean isWatched(long nowNanos) {
    return watchedUntilNanos - nowNanos > 0;
  }

  void watchedUntil(long nanos) {
    watchedUntilNanos = nanos;
  }

  /** Whether a renewal that failed may be tried again by now. */
  boolean mayRetry(long nowNanos) {
    return nowNanos - retryNanos >= 0;
  }

  void notBefore(long nanos) {
    retryNanos = nanos;
  }

  /** Consul said that it lives, in answer to a request that was sent at that moment. */
  void renewed(Sent sent) {
    mutex.lock();
    try {
      if (sent.nanos() - renewed.nanos() > 0) {
        renewed = sent;
      }
    } finally {
      mutex.unlock();
    }
  }

  /** Until when what is to end then may be held: the session may end before. */
  long until(long endNanos) {
    long bySession = renewed.nanos() + ttlNanos;
    return endNanos - bySession < 0 ? endNanos : bySession;
  }

  /** Takes an attempt in; false: it takes none any more. */
  boolean add(Attempt attempt) {
    mutex.lock();
    try {
      if (retired) {
        return false;
      }
      attempt.renewedWith(attempts.size() / RENEWED_TOGETHER_MAX);
      attempts.put(attempt.claim().ownerId(), attempt);
      return true;
    } finally {
      mutex.unlock();
    }
  }

  void remove(Attempt attempt, long nowNanos) {
    // Another attempt of the same claim may be in by now.
    attempts.remove(attempt.claim().ownerId(), attempt);
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
