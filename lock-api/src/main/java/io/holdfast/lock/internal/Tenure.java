package io.holdfast.lock.internal;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.Standing.Phase;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

/**
 * The time during which this client has a name at the store: from one grant to its release or loss.
 * One {@link Hold} after the other may live in it.
 *
 * <p>Deadlines count from before the request that got or renewed the grant was sent, as TigerBeetle
 * and the leases of Gray and Cheriton (1989) do: the store starts its own count later, so ours ends
 * first.
 *
 * <p>Threads: any. All of what is known is one {@link Standing}, swapped atomically; the observer
 * is told by whoever made the swap, with no lock held.
 */
final class Tenure {
  /** Told once for each change, on the thread that made it. */
  interface Observer {
    void uncertain(Tenure tenure);

    void confirmed(Tenure tenure);

    void lost(Tenure tenure, LeaseLoss.Reason reason);
  }

  private static final AtomicReferenceFieldUpdater<Tenure, Standing> STANDING =
      AtomicReferenceFieldUpdater.newUpdater(Tenure.class, Standing.class, "standing");

  private final Grant grant;
  private final LockOptions options;
  private final Line line;
  private final TimeSource time;
  private final Observer observer;
  private final long ttlNanos;
  private final long grantedAtNanos;
  private final boolean capped;
  private final long capNanos;
  private volatile Standing standing;
  private final RenewalPlan renewal;

  /** @param sentAtNanos the monotonic clock before the request was sent */
  Tenure(
      Grant grant,
      LockOptions options,
      Line line,
      long sentAtNanos,
      TimeSource time,
      Observer observer) {
    this.grant = grant;
    this.options = options;
    this.line = line;
    this.time = time;
    this.observer = observer;
    this.ttlNanos = options.ttl().toNanos();
    this.grantedAtNanos = time.nanos();
    this.capped = options.maxHold().isPresent();
    this.capNanos = sentAtNanos + Nanos.of(options.maxHold().orElse(Duration.ZERO));
    this.standing = new Standing(
        Phase.CONFIRMED, deadline(sentAtNanos, grant.validFor()), WallClock.aheadNanos(time), null);
    this.renewal = new RenewalPlan(time, options.isRenewed(), ttlNanos, grantedAtNanos);
  }

  Grant grant() {
    return grant;
  }

  RenewalPlan renewal() {
    return renewal;
  }

  LockOptions options() {
    return options;
  }

  Line line() {
    return line;
  }

  long ttlNanos() {
    return ttlNanos;
  }

  long grantedAtNanos() {
    return grantedAtNanos;
  }

  /** Whether the lease stands by our own clocks. Marks what it finds. */
  boolean stands() {
    while (true) {
      Standing now = standing;
      if (now.isOver()) {
        return false;
      }
      // The wall clock is read first: a pause between the reads must not look like a jump.
      long wallNanos = time.wallMillis() * 1_000_000;
      long nanos = time.nanos();
      if (now.isPast(nanos)) {
        lose(expiry(now));
        return false;
      }
      if (now.phase() == Phase.SUSPECT) {
        return false;
      }
      if (wallNanos - nanos - now.wallAheadNanos() <= Margins.wallAheadNanos(ttlNanos)) {
        return true;
      }
      if (replace(now, now.in(Phase.SUSPECT))) {
        observer.uncertain(this);
        return false;
      }
    }
  }

  /**
   * Whether the store confirmed it lately enough for somebody else to start on it. Marks nothing.
   */
  boolean isFresh() {
    Standing now = standing;
    return now.phase() == Phase.CONFIRMED
        && now.deadlineNanos() - time.nanos() >= ttlNanos / 2
        && WallClock.aheadNanos(time) - now.wallAheadNanos() <= Margins.wallAheadNanos(ttlNanos);
  }

  LeaseState state() {
    boolean stands = stands();
    return switch (standing.phase()) {
      // Asked for before, so that a deadline that has passed shows.
      case CONFIRMED -> stands ? LeaseState.HELD : LeaseState.UNCERTAIN;
      case UNANSWERED, SUSPECT, ENDING -> LeaseState.UNCERTAIN;
      case RELEASED -> LeaseState.RELEASED;
      case LOST -> LeaseState.LOST;
    };
  }

  Duration remaining() {
    return stands()
        ? Duration.ofNanos(Math.max(0, standing.deadlineNanos() - time.nanos()))
        : Duration.ZERO;
  }

  Standing standing() {
    return standing;
  }

  /** How much longer the name must stay taken because of the minimum hold. */
  Duration minHoldLeft() {
    long leftNanos = Nanos.of(options.minHold()) - (time.nanos() - grantedAtNanos);
    return leftNanos <= 0 ? Duration.ZERO : Duration.ofNanos(leftNanos);
  }

  /**
   * The store confirmed the grant in answer to a request sent then. Ignored if it comes after the
   * deadline: somebody may have been told that the lease is gone.
   */
  void confirmed(long sentAtNanos, Duration validFor) {
    long confirmedDeadline = deadline(sentAtNanos, validFor);
    while (true) {
      Standing now = standing;
      if (now.isOver()) {
        return;
      }
      if (now.isPast(time.nanos())) {
        lose(expiry(now));
        return;
      }
      boolean trusted = now.phase() != Phase.SUSPECT;
      long deadlineNanos = trusted && now.deadlineNanos() - confirmedDeadline > 0
          ? now.deadlineNanos()
          : confirmedDeadline;
      Standing next =
          new Standing(Phase.CONFIRMED, deadlineNanos, WallClock.aheadNanos(time), null);
      if (replace(now, next)) {
        if (now.phase() != Phase.CONFIRMED) {
          observer.confirmed(this);
        }
        return;
      }
    }
  }

  /** A renewal went unanswered, or the session is suspended. */
  void unanswered() {
    Standing now = standing;
    // If the swap fails, somebody just learned something newer.
    if (now.phase() == Phase.CONFIRMED && replace(now, now.in(Phase.UNANSWERED))) {
      observer.uncertain(this);
    }
  }

  /** The lease is lost, unless it is over already. */
  void lose(LeaseLoss.Reason reason) {
    while (true) {
      Standing now = standing;
      if (now.isOver()) {
        return;
      }
      if (replace(now, now.lost(reason))) {
        observer.lost(this, reason);
        return;
      }
    }
  }

  /**
   * Its holder lets go of it: from now on neither renewal nor expiry changes it.
   *
   * @return false: it had been lost
   */
  boolean beginEnd() {
    while (true) {
      Standing now = standing;
      if (now.isOver()) {
        return false;
      }
      if (now.isPast(time.nanos())) {
        lose(expiry(now));
        return false;
      }
      if (replace(now, now.in(Phase.ENDING))) {
        return true;
      }
    }
  }

  /** After {@link #beginEnd()}: the holder was the holder to the end, as far as anybody knows. */
  void endReleased() {
    standing = standing.in(Phase.RELEASED);
  }

  /** After {@link #beginEnd()}: the store said that the grant had been gone before. */
  void endLost() {
    standing = standing.lost(LeaseLoss.Reason.TAKEN);
    observer.lost(this, LeaseLoss.Reason.TAKEN);
  }

  private boolean replace(Standing expected, Standing next) {
    return STANDING.compareAndSet(this, expected, next);
  }

  private LeaseLoss.Reason expiry(Standing now) {
    return capped && now.deadlineNanos() == capNanos
        ? LeaseLoss.Reason.MAX_HOLD
        : LeaseLoss.Reason.EXPIRED;
  }

  private long deadline(long sentAtNanos, Duration validFor) {
    long validForNanos = Nanos.of(validFor);
    long deadlineNanos = sentAtNanos + validForNanos - Margins.driftNanos(validForNanos);
    return capped && deadlineNanos - capNanos > 0 ? capNanos : deadlineNanos;
  }
}
