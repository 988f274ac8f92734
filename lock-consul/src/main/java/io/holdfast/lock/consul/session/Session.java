package io.holdfast.lock.consul.session;

import io.holdfast.lock.consul.http.SessionRequests;
import io.holdfast.lock.consul.line.Keys;
import io.holdfast.lock.spi.TimeSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** A session at Consul, and the attempts that live in it. Thread-safe. */
public final class Session {
  /**
   * The most attempts that are renewed together: each 64 are one request, and all requests must be
   * answered within a store timeout.
   */
  public static final int RENEWED_TOGETHER_MAX = 2_048;

  private final String id;
  private final long ttlNanos;

  /** The attempts, in the groups that are renewed together. Guarded by the monitor. */
  private final List<Set<Attempt>> groups = new ArrayList<>();

  /** The time at which the last attempt left the session. Guarded by the monitor. */
  private long usedNanos;

  /** Whether the session has ended, or is about to, and accepts no attempt. */
  private volatile boolean lost;

  private final AtomicReference<Renewals> renewals;

  private volatile long watchedUntilNanos;
  private final AtomicInteger forceChecks = new AtomicInteger();
  private volatile long gateIndex;

  /** Its keys whose attempts are over. */
  final IdleKeys idleKeys = new IdleKeys();

  /** A moment by both clocks, as a rule that at which a request was sent. */
  public record Moment(long nanos, long wallMillis) {
    public static Moment now(TimeSource time) {
      long wallMillis = time.wallMillis();
      return new Moment(time.nanos(), wallMillis);
    }
  }

  /**
   * The renewals of the session. The two change as one: a renewal that was sent before the session
   * had this witness does not count any more.
   *
   * @param last the time at which the last one was sent that counts
   * @param witness the id of the witness that is renewed, too; null: there is none
   */
  private record Renewals(Moment last, @Nullable String witness) {
    Renewals after(Moment sent, @Nullable String withWitness) {
      boolean counts = Objects.equals(witness, withWitness) && sent.nanos() - last.nanos() > 0;
      return counts ? new Renewals(sent, witness) : this;
    }
  }

  /** @param sent the time at which the request that created it was sent */
  public Session(String id, long ttlSeconds, Moment sent) {
    this.id = id;
    this.ttlNanos = TimeUnit.SECONDS.toNanos(ttlSeconds);
    this.renewals = new AtomicReference<>(new Renewals(sent, null));
    this.usedNanos = sent.nanos();
    this.watchedUntilNanos = sent.nanos();
  }

  private Renewals renewals() {
    return Objects.requireNonNull(renewals.get());
  }

  /**
   * Returns the TTL of the session for leases of this TTL: that TTL, rounded up to one of a few
   * steps (10, 15, 20, 30, 40, 60, ... s), so that a few sessions serve many TTLs.
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

  public String id() {
    return id;
  }

  public long ttlNanos() {
    return ttlNanos;
  }

  public boolean isLost() {
    return lost;
  }

  /**
   * Ends the session in this client, after which it accepts no attempt.
   *
   * @return its attempts, for the first caller alone; null: the session had ended before
   */
  @Nullable
  public synchronized List<Attempt> end() {
    // Read before the flag is set: whoever sees it may remove its attempts at once.
    List<Attempt> ended = lost ? null : attempts();
    lost = true;
    return ended;
  }

  /**
   * Whether the session certainly lives: it was renewed within two thirds of its TTL, and a long
   * poll would have told of its end.
   */
  public boolean isSure(Moment now) {
    return !lost && isWatched(now.nanos()) && isRecent(renewals().last(), now);
  }

  /**
   * Whether that time is less than two thirds of the TTL ago, by both clocks: the monotonic one may
   * stand still while the machine sleeps.
   */
  public boolean isRecent(Moment then, Moment now) {
    long maxNanos = ttlNanos / 3 * 2;
    return now.nanos() - then.nanos() < maxNanos
        && TimeUnit.MILLISECONDS.toNanos(now.wallMillis() - then.wallMillis()) < maxNanos;
  }

  /** Returns the last known index of {@link Keys#gate}. */
  public long gateIndex() {
    return gateIndex;
  }

  public void gateIndex(long index) {
    gateIndex = index;
  }

  /**
   * Returns the number of force checks that have begun: reads of all keys of the session's holders,
   * after a forced release of one of them. If it changes while an attempt becomes the holder, the
   * check may have missed this attempt, which then must check its key.
   */
  public int forceChecks() {
    return forceChecks.get();
  }

  void beginForceCheck() {
    forceChecks.incrementAndGet();
  }

  /** Whether a long poll on {@link Keys#watched} is open, as far as this client knows. */
  boolean isWatched(long nowNanos) {
    return watchedUntilNanos - nowNanos > 0;
  }

  void watchedUntil(long nanos) {
    watchedUntilNanos = nanos;
  }

  /**
   * Whether the client must renew the session by itself. The engine renews it along with renewed
   * leases, each third of their TTL. This is later, so that it happens only if there are none, but
   * waiters or fixed leases.
   */
  public boolean isRenewalDue(long nowNanos) {
    long dueNanos = ttlNanos / 100 * (45 + ThreadLocalRandom.current().nextInt(5));
    return nowNanos - renewals().last().nanos() > dueNanos;
  }

  /**
   * Notes that a renewal that was sent at that time was confirmed. It counts if its witness was
   * renewed with it.
   *
   * @param withWitness the witness that was renewed at the same time; null: none was
   */
  public void noteRenewal(Moment sent, @Nullable String withWitness) {
    Renewals unused = renewals.updateAndGet(before -> before.after(sent, withWitness));
  }

  /**
   * Whether it was not renewed for so long that Consul may be about to end it, whatever it answers
   * to a renewal: it ends a session after two TTLs, and tries that again if it fails.
   */
  public boolean isOverdue(Moment now) {
    return now.nanos() - renewals().last().nanos() > 2 * ttlNanos;
  }

  /** Returns the id of its witness; null: it has none. */
  public @Nullable String witness() {
    return renewals().witness();
  }

  /** Sets its witness, which must be renewed before anybody else can know of it. */
  public void witness(String id) {
    Renewals unused = renewals.updateAndGet(before -> new Renewals(before.last(), id));
  }

  /**
   * Returns the time until which a lease may be held: its own end, or, if that is sooner, one
   * session TTL after the earlier of the last renewal and {@code provedNanos}. When a session has
   * ended, others leave its keys alone for one TTL, or until its witness has ended.
   *
   * @param endNanos the lease's own end
   * @param provedNanos when a request was sent that showed the session alive, by the answer of a
   *     majority. A renewal alone is no proof: a leader answers it from memory, even one that was
   *     replaced
   */
  public long until(long endNanos, long provedNanos) {
    long byRenewal = renewals().last().nanos() - provedNanos;
    return provedNanos + Math.min(endNanos - provedNanos, ttlNanos + Math.min(0, byRenewal));
  }

  /**
   * Adds an attempt to the first group that has room, so that there are few groups; false: the
   * session accepts no attempt any more.
   */
  public synchronized boolean add(Attempt attempt) {
    if (lost) {
      return false;
    }
    int group = 0;
    while (group < groups.size() && groups.get(group).size() == RENEWED_TOGETHER_MAX) {
      group++;
    }
    if (group == groups.size()) {
      groups.add(new HashSet<>());
    }
    attempt.renewedWith(group);
    groups.get(group).add(attempt);
    return true;
  }

  public synchronized void remove(Attempt attempt, long nowNanos) {
    groups.get(attempt.renewedWith()).remove(attempt);
    usedNanos = nowNanos;
  }

  /**
   * Ends the session in this client if it has had no attempts since that time.
   *
   * @return whether it has ended, now or before
   */
  public synchronized boolean retireIfUnused(long sinceNanos) {
    lost |= isUnused() && usedNanos - sinceNanos <= 0;
    return lost;
  }

  public synchronized List<Attempt> attempts() {
    return groups.stream().flatMap(Set::stream).toList();
  }

  /** Returns the grants of its attempts. */
  List<ConsulGrant> grants() {
    return attempts().stream().map(Attempt::grant).filter(Objects::nonNull).toList();
  }

  public synchronized boolean isUnused() {
    return groups.stream().allMatch(Set::isEmpty);
  }
}
