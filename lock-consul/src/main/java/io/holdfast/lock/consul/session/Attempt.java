package io.holdfast.lock.consul.session;

import io.holdfast.lock.consul.http.LongPoll;
import io.holdfast.lock.consul.line.Line;
import io.holdfast.lock.consul.line.Mark;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** A claim that has a key at Consul, or may have: what this client knows of it. Thread-safe. */
public final class Attempt {
  /**
   * The time beyond a TTL that an attempt waits without a sign of the thread that waits with it,
   * which comes by more often than that.
   */
  private static final long UNSEEN_NANOS = 2 * LongPoll.RECHECK_AFTER.toNanos();

  private enum Phase {
    ASKING,
    HELD,
    OVER
  }

  private final Claim claim;
  private final Session session;
  private final String key;
  private final long indexBefore;

  /**
   * The time by the machine's wall clock, for who looks at the store; the client's may be ahead.
   */
  private final Instant asked;

  // All guarded by the monitor.
  private Phase phase = Phase.ASKING;
  /** The end of its TTL; while it asks, the time after which nobody can want it any more. */
  private long endNanos;
  /** The same time, or that at which its session may end, if that is sooner. */
  private long expiresAtNanos;

  private final AtomicBoolean freed = new AtomicBoolean();

  private volatile int renewedWith;
  private volatile long number;
  private volatile @Nullable ConsulGrant grant;
  private volatile @Nullable Runnable wakeUp;
  private volatile boolean releaseSent;

  /** @param indexBefore as {@link #indexBefore()} */
  public Attempt(Claim claim, Session session, String key, long indexBefore, TimeSource time) {
    this.claim = claim;
    this.session = session;
    this.key = key;
    this.indexBefore = indexBefore;
    this.asked = Instant.now();
    seen(time.nanos());
  }

  public Claim claim() {
    return claim;
  }

  public Session session() {
    return session;
  }

  public String key() {
    return key;
  }

  /** The key's index since the attempt before was over; zero: there was no such key. */
  public long indexBefore() {
    return indexBefore;
  }

  /** Returns what is written under its key while it asks and holds. */
  public Mark mark() {
    return new Mark(false, session.ttlNanos() / 1_000_000, indexBefore, asked, claim.holder());
  }

  /** Returns what is written there when it is over, and keeps the name taken for that long. */
  public Mark releasedMark(long index, long holdNanos) {
    return Mark.released(index, holdNanos, asked, claim.holder());
  }

  /** Returns its own place in a line; null: it has none any more. */
  public Line.@Nullable Place placeIn(Line line) {
    for (Line.Place place : line.places()) {
      if (isAt(place)) {
        return place;
      }
    }
    return null;
  }

  /** Whether that is its place. */
  public boolean isAt(Line.Place place) {
    return place.entry().key().equals(key)
        && place.entry().session().equals(session.id())
        && !place.mark().released()
        && (number == 0 ? place.number() > indexBefore : place.number() == number);
  }

  /** The part of its session's attempts that it is renewed with. */
  public int renewedWith() {
    return renewedWith;
  }

  void renewedWith(int part) {
    renewedWith = part;
  }

  /** The index at which its key was locked for it; zero: not known, or not yet. */
  public long number() {
    return number;
  }

  public void joined(long index) {
    number = index;
  }

  @Nullable
  public ConsulGrant grant() {
    return grant;
  }

  /** Returns the flags of its key for when it is marked as over. */
  long flagsOfEnd() {
    return grant == null ? 0 : Line.HAD_LOCK;
  }

  public void onNews(Runnable run) {
    wakeUp = run;
  }

  void wake() {
    Runnable run = wakeUp;
    if (run != null) {
      run.run();
    }
  }

  /** Notes that a release was sent, and may have got through. */
  public void noteRelease() {
    releaseSent = true;
  }

  public boolean mayBeReleased() {
    return releaseSent;
  }

  /** Notes that the thread that waits with it was there at that moment. */
  public synchronized void seen(long nowNanos) {
    if (phase == Phase.ASKING) {
      endNanos = nowNanos + claim.ttl().toNanos() + UNSEEN_NANOS;
      expiresAtNanos = endNanos;
    }
  }

  /**
   * Makes this attempt the holder of the lock, since that moment.
   *
   * @param provedNanos when a request was sent that proved its key, and so its session, to be there
   * @return null: it is over
   */
  @Nullable
  public ConsulGrant hold(long sinceNanos, long provedNanos) {
    long grantedEndNanos = sinceNanos + claim.ttl().toNanos();
    long untilNanos = session.until(grantedEndNanos, provedNanos);
    ConsulGrant granted = new ConsulGrant(this, number, untilNanos - sinceNanos);
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
   * Extends it to at least that long from a request that was sent at that moment and that proved
   * it, and its session, to be alive; zero: to the time that it was to last before. Never shortens
   * it.
   *
   * @return for how long it is held, counted from that moment; empty: it is over by now
   */
  public synchronized Optional<Duration> extend(long sentNanos, Duration ttl, long nowNanos) {
    long wantedEndNanos = sentNanos + ttl.toNanos();
    if (phase != Phase.HELD || nowNanos - expiresAtNanos >= 0) {
      return Optional.empty();
    }
    if (wantedEndNanos - endNanos > 0) {
      endNanos = wantedEndNanos;
    }
    long untilNanos = session.until(endNanos, sentNanos);
    if (untilNanos - expiresAtNanos > 0) {
      expiresAtNanos = untilNanos;
    }
    return Optional.of(Duration.ofNanos(expiresAtNanos - sentNanos));
  }

  /** The time for which it is held yet; zero or less: no more. */
  public synchronized long leftNanos(long nowNanos) {
    return phase == Phase.HELD ? expiresAtNanos - nowNanos : 0;
  }

  /** Ends it if its time is over and nobody noticed yet. */
  public synchronized boolean expire(long nowNanos) {
    if (phase == Phase.OVER || nowNanos - expiresAtNanos < 0) {
      return false;
    }
    phase = Phase.OVER;
    return true;
  }

  synchronized boolean isOver() {
    return phase == Phase.OVER;
  }

  public synchronized void end() {
    phase = Phase.OVER;
  }

  /** Whether its key is certainly given up, and may be another attempt's. */
  boolean isFreed() {
    return freed.get();
  }

  /**
   * Notes that its key is certainly given up; true for one caller, who may then let another have
   * it.
   */
  public boolean setFreed() {
    return freed.compareAndSet(false, true);
  }
}
