package io.holdfast.lock.consul.session;

import io.holdfast.lock.LockOptions;
import io.holdfast.lock.consul.http.SessionRequests;
import io.holdfast.lock.consul.line.Keys;
import io.holdfast.lock.consul.line.TaskQueue;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** A session at Consul, and the attempts that live in it. Thread-safe. */
public final class Session {
  /**
   * The most attempts that are renewed together: each 64 are one request, and all have to be
   * answered within a store timeout.
   */
  public static final int RENEWED_TOGETHER_MAX = 2_048;

  /**
   * The longest that locks stay taken if nobody renews their session, in its TTLs. Consul ends it
   * after up to two; then another must pass, in which a holder might believe in one. If Consul
   * measures that as well, it can take two.
   */
  public static final int TTLS_OF_A_CRASH = 4;

  private final String id;
  private final long ttlNanos;
  private final ConcurrentHashMap<String, Attempt> attempts = new ConcurrentHashMap<>();

  // Guarded by the monitor.
  private boolean retired;

  /** The number of attempts in each part that is renewed together. */
  private final List<Integer> parts = new ArrayList<>();

  private volatile boolean lost;

  /** The time of the last request to which Consul answered that it lives. */
  private volatile Sent renewed;

  private volatile long usedNanos;
  private volatile long noteIndex;
  private volatile long watchedUntilNanos;
  private volatile long watchEndsNanos;
  private final AtomicInteger watches = new AtomicInteger();
  private volatile long retryNanos;
  private final AtomicInteger looks = new AtomicInteger();
  private volatile long gateIndex;
  private final AtomicLong gateWrites = new AtomicLong();
  private final IdleKeys idleKeys = new IdleKeys();

  /** The time at which a request was sent, by both clocks. */
  public record Sent(long nanos, long wallMillis) {
    public static Sent now(TimeSource time) {
      // The wall clock first: a pause in between must not look as if it had run ahead.
      long wallMillis = time.wallMillis();
      return new Sent(time.nanos(), wallMillis);
    }
  }

  /**
   * @param sent when it was asked for
   * @param madeIndex the index of {@link Keys#session} and {@link Keys#gate}, when they were made
   */
  public Session(String id, long ttlSeconds, Sent sent, long madeIndex) {
    this.id = id;
    this.ttlNanos = TimeUnit.SECONDS.toNanos(ttlSeconds);
    this.renewed = sent;
    this.usedNanos = sent.nanos();
    this.noteIndex = madeIndex;
    this.gateIndex = madeIndex;
    this.watchedUntilNanos = sent.nanos();
    this.watchEndsNanos = sent.nanos() + ttlNanos;
    this.retryNanos = sent.nanos();
  }

  /**
   * The shortest of some rough steps (10, 15, 20, 30, 40, 60, ... s) that is no shorter, so that a
   * client needs few sessions however many TTLs it uses.
   */
  public static long ttlSeconds(long wantedNanos) {
    long ttlSeconds = SessionRequests.TTL_SECONDS_MIN;
    while (TimeUnit.SECONDS.toNanos(ttlSeconds) < wantedNanos
        && ttlSeconds < SessionRequests.TTL_SECONDS_MAX) {
      boolean evenStep = Long.bitCount(ttlSeconds / 5) == 1;
      ttlSeconds = evenStep ? ttlSeconds / 2 * 3 : ttlSeconds / 3 * 4;
    }
    return Math.min(ttlSeconds, SessionRequests.TTL_SECONDS_MAX);
  }

  /**
   * Checks that Consul has sessions for such leases.
   *
   * @throws IllegalArgumentException it has none
   */
  public static void checkOptions(LockOptions options) {
    checkLength("TTL", options.ttl());
    checkLength("minHold", options.minHold());
  }

  private static void checkLength(String what, Duration length) {
    if (length.compareTo(Duration.ofSeconds(SessionRequests.TTL_SECONDS_MAX)) > 0) {
      throw new IllegalArgumentException("A "
          + what
          + " of "
          + length
          + " is longer than Consul keeps a session: take 24 h at most (a renewed lease lives as"
          + " long as its holder does, whatever its TTL)");
    }
  }

  public String id() {
    return id;
  }

  public long ttlNanos() {
    return ttlNanos;
  }

  /** Returns the longest that its locks stay taken if nobody renews it. */
  Duration crashBound() {
    return Duration.ofNanos(ttlNanos).multipliedBy(TTLS_OF_A_CRASH);
  }

  public boolean isLost() {
    return lost;
  }

  /**
   * Marks it as lost, and takes no attempt in any more.
   *
   * @return the attempts in it, for one caller: whoever sees it lost may forget them at once; null:
   *     it had ended before
   */
  @Nullable
  public synchronized List<Attempt> end() {
    List<Attempt> ended = lost ? null : List.copyOf(attempts.values());
    lost = true;
    retired = true;
    return ended;
  }

  /**
   * Whether Consul must still have it, and would have told of its end: renewed within two thirds of
   * its TTL by both clocks, since a machine that slept knows it by the wall clock alone, and
   * watched.
   */
  public boolean isSure(Sent now) {
    return !lost && isWatched(now.nanos()) && isRecent(renewed, now);
  }

  /** Whether what was proved then is no older than two thirds of the TTL, by both clocks. */
  public boolean isRecent(Sent then, Sent now) {
    long maxNanos = ttlNanos / 3 * 2;
    return now.nanos() - then.nanos() < maxNanos
        && TimeUnit.MILLISECONDS.toNanos(now.wallMillis() - then.wallMillis()) < maxNanos;
  }

  long usedNanos() {
    return usedNanos;
  }

  /** Returns the index of {@link Keys#session} at the last look at the attempts. */
  long noteIndex() {
    return noteIndex;
  }

  void noteIndex(long index) {
    noteIndex = index;
  }

  /** Returns the index of {@link Keys#gate}, as far as is known. */
  public long gateIndex() {
    return gateIndex;
  }

  public void gateIndex(long index) {
    gateIndex = index;
  }

  /** A text for {@link Keys#gate} that it never had. */
  String newGateText() {
    return "write " + gateWrites.incrementAndGet();
  }

  /** Keys for the next attempts. */
  IdleKeys idleKeys() {
    return idleKeys;
  }

  /**
   * The number of checks for holders that lost a key by force, those included that are under way. A
   * holder that became one while this changes may have been missed, and has to check for itself.
   */
  public int looks() {
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

  /**
   * Notes that a long poll on {@link Keys#session} begins, in the place of any before.
   *
   * @param endsNanos when it has ended for certain, if nothing dies
   * @return which it is
   */
  int beginWatch(long endsNanos) {
    watchEndsNanos = endsNanos;
    return watches.incrementAndGet();
  }

  /** Whether that long poll is the last that began. */
  boolean isWatch(int which) {
    return watches.get() == which;
  }

  void watchEnds(long nanos) {
    watchEndsNanos = nanos;
  }

  /** Whether the last long poll must have ended by now, and another one have begun. */
  boolean hasNoWatch(long nowNanos) {
    return nowNanos - watchEndsNanos > 0;
  }

  /**
   * Whether it is to be renewed for those that wait in it: later than the engine does, which renews
   * held leases each third of their TTL and the session with them.
   */
  public boolean isRenewalDue(long nowNanos) {
    long dueNanos = ttlNanos / 100 * (45 + ThreadLocalRandom.current().nextInt(5));
    return nowNanos - renewed.nanos() > dueNanos && nowNanos - retryNanos >= 0;
  }

  /** Puts the next renewal off for about a second, since one got no answer. */
  public void renewalFailed(long nowNanos) {
    retryNanos = nowNanos + TaskQueue.retryNanos();
  }

  /** Notes that Consul answered that it lives, to a request that was sent at that moment. */
  public synchronized void renewed(Sent sent) {
    if (sent.nanos() - renewed.nanos() > 0) {
      renewed = sent;
    }
  }

  /**
   * The time until which a lease may be held that is to end then: the session may end before, and
   * others leave its keys alone for a TTL after that.
   *
   * @param provedNanos when a request was sent that a majority answered, with the session alive.
   *     Renewals are answered from what a leader remembers, even one that is none any more
   */
  long until(long endNanos, long provedNanos) {
    long byRenewal = renewed.nanos() - provedNanos;
    return provedNanos + Math.min(endNanos - provedNanos, ttlNanos + Math.min(0, byRenewal));
  }

  /** Takes an attempt in; false: it takes none any more. */
  public synchronized boolean add(Attempt attempt) {
    if (retired) {
      return false;
    }
    attempt.renewedWith(joinPart());
    Attempt before = attempts.put(attempt.claim().ownerId(), attempt);
    if (before != null) {
      leavePart(before);
    }
    return true;
  }

  /** Returns the first part that has room, so that they are as few as they can be. */
  private int joinPart() {
    for (int part = 0; part < parts.size(); part++) {
      if (parts.get(part) < RENEWED_TOGETHER_MAX) {
        parts.set(part, parts.get(part) + 1);
        return part;
      }
    }
    parts.add(1);
    return parts.size() - 1;
  }

  private void leavePart(Attempt attempt) {
    int part = attempt.renewedWith();
    parts.set(part, parts.get(part) - 1);
  }

  public synchronized void remove(Attempt attempt, long nowNanos) {
    // Another attempt of the same claim may be in by now.
    if (attempts.remove(attempt.claim().ownerId(), attempt)) {
      leavePart(attempt);
    }
    usedNanos = nowNanos;
  }

  /** Takes no attempt in any more, if there is none. */
  public synchronized boolean retireIfUnused() {
    if (attempts.isEmpty()) {
      retired = true;
    }
    return retired;
  }

  public Collection<Attempt> attempts() {
    return List.copyOf(attempts.values());
  }

  public boolean isUnused() {
    return attempts.isEmpty();
  }
}
