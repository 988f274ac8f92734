package io.holdfast.lock.consul.session;

import io.holdfast.lock.consul.line.Line;
import io.holdfast.lock.consul.line.LineCleanup;
import io.holdfast.lock.consul.line.Mark;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * An attempt of a claim to get its lock, as this client knows it. It has a key at Consul.
 * Thread-safe.
 */
public final class Attempt {
  /**
   * A waiting attempt is over if its thread has not polled for a TTL and this time. Threads poll
   * more often than that.
   */
  private static final long UNSEEN_NANOS = 2 * LineCleanup.RECHECK_AFTER.toNanos();

  private enum Phase {
    ASKING,
    HELD,
    OVER,
    /** Its key is certainly given up, and may be that of another attempt. */
    FREED
  }

  private final Claim claim;
  private final Session session;
  private final String key;
  private final long indexBefore;

  /**
   * The time at which the lock was asked for, by the wall clock of the machine; that of the
   * client's {@link TimeSource} may be ahead.
   */
  private final String asked;

  // These three are guarded by the monitor.
  private Phase phase = Phase.ASKING;
  /** The end of the lease's TTL; before the grant, the time by which no thread waits any more. */
  private long endNanos;
  /**
   * The time at which this client ends it: {@link #endNanos}, or {@link Session#until} if that is
   * sooner.
   */
  private long expiresAtNanos;

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
    this.asked = Instant.now().toString();
    notePoll(time.nanos());
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

  /**
   * Returns the index of the key when this attempt took it over from an earlier one; zero: the key
   * is new.
   */
  public long indexBefore() {
    return indexBefore;
  }

  /** Returns the value of its key while it waits for the lock or holds it. */
  public Mark mark() {
    Mark.Word word = isShared() ? Mark.Word.READER : Mark.Word.ATTEMPT;
    return new Mark(word, session.ttlNanos() / 1_000_000, indexBefore, asked, claim.holder());
  }

  /** Whether it is a reader's. */
  public boolean isShared() {
    return claim.mode() instanceof Claim.Shared;
  }

  /** Returns the flags of its key once it is over. */
  public long flagsWhenOver() {
    return grant == null || isShared() ? 0 : Line.HAD_LOCK;
  }

  /** Returns its own place in a line; null: it has none any more. */
  public Line.@Nullable Place placeIn(Line line) {
    return line.places().stream().filter(this::isAt).findFirst().orElse(null);
  }

  /** Whether a place is this attempt's. */
  public boolean isAt(Line.Place place) {
    return place.entry().key().equals(key)
        && place.entry().session().equals(session.id())
        && !place.mark().released()
        && (number == 0 ? place.number() > indexBefore : place.number() == number);
  }

  /** Returns the group of the session's attempts that this one is renewed with. */
  public int renewedWith() {
    return renewedWith;
  }

  void renewedWith(int part) {
    renewedWith = part;
  }

  /** Returns the index at which its key was locked for it; zero: not locked yet, or not known. */
  public long number() {
    return number;
  }

  /** Notes the index at which its key was locked for it. */
  public void noteJoined(long index) {
    number = index;
  }

  @Nullable
  public ConsulGrant grant() {
    return grant;
  }

  /** Sets what wakes its waiting thread; null: no thread waits. */
  public void wakeWith(@Nullable Runnable run) {
    wakeUp = run;
  }

  /** Wakes its waiting thread. */
  public void wake() {
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

  /** Notes that its waiting thread polled at that time. */
  public synchronized void notePoll(long nowNanos) {
    if (phase == Phase.ASKING) {
      endNanos = nowNanos + claim.ttl().toNanos() + UNSEEN_NANOS;
      expiresAtNanos = endNanos;
    }
  }

  /**
   * Makes this attempt the holder of the lock.
   *
   * @param sinceNanos when the lease begins
   * @param provedNanos when a request was sent whose answer showed its key, and so its session,
   *     alive
   * @return null: it is over
   */
  @Nullable
  public ConsulGrant hold(long sinceNanos, long provedNanos) {
    long grantedEndNanos = sinceNanos + claim.ttl().toNanos();
    long untilNanos = session.until(grantedEndNanos, provedNanos);
    Duration validFor = Duration.ofNanos(Math.max(0, untilNanos - sinceNanos));
    ConsulGrant granted = new ConsulGrant(this, number, validFor);
    synchronized (this) {
      if (isOver()) {
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
   * Extends the lease to at least this TTL from when a request was sent; never shortens it.
   *
   * @param sentNanos when the request was sent whose answer showed its key and its session alive
   * @param ttl zero: the lease keeps its own end, and is held until then if the session allows it
   *     now
   * @return for how long it is held from {@code sentNanos} on; empty: it is over by now
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

  /**
   * Ends it if its time is over.
   *
   * @return whether it ended now
   */
  public synchronized boolean expire(long nowNanos) {
    if (isOver() || nowNanos - expiresAtNanos < 0) {
      return false;
    }
    phase = Phase.OVER;
    return true;
  }

  public synchronized boolean isOver() {
    return phase == Phase.OVER || phase == Phase.FREED;
  }

  public synchronized void end() {
    phase = isOver() ? phase : Phase.OVER;
  }

  synchronized boolean isFreed() {
    return phase == Phase.FREED;
  }

  /**
   * Notes that its key is certainly given up.
   *
   * @return whether this is the first call, whose caller may make the key available to another
   *     attempt
   */
  public synchronized boolean setFreed() {
    boolean first = phase != Phase.FREED;
    phase = Phase.FREED;
    return first;
  }
}
