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
 * <p>Threads: any. All of what is known is one {@link Standing}, swapped atomically; the observer
 * is told by whoever made the swap, with no lock held.
 */
final class Tenure {
  /** Told once for each change, on the thread that made it. */
  interface Observer {
    /** The wall clock ran ahead: the store is to be asked at once. */
    void suspect(Tenure tenure);

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
  private final long grantedAtNanos;
  private final boolean capped;
  private final long capNanos;
  private final RenewalPlan renewal;
  private volatile Standing standing;

  /** @param asked before the request was sent */
  Tenure(
      Grant grant,
      LockOptions options,
      Line line,
      Moment asked,
      TimeSource time,
      Observer observer) {
    this.grant = grant;
    this.options = options;
    this.line = line;
    this.time = time;
    this.observer = observer;
    this.grantedAtNanos = time.nanos();
    this.capped = options.maxHold().isPresent();
    this.capNanos = asked.nanos() + Nanos.of(options.maxHold().orElse(Duration.ZERO));
    long validForNanos = Nanos.of(grant.validFor());
    this.renewal =
        new RenewalPlan(time, options.isRenewed(), options.ttl(), asked.nanos(), validForNanos);
    this.standing = new Standing(Phase.CONFIRMED, term(asked, validForNanos), null);
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
        if (expire(now)) {
          return false;
        }
      } else if (now.phase() == Phase.SUSPECT) {
        return false;
      } else if (!now.isOutrun(wallNanos - nanos)) {
        return true;
      } else if (replace(now, now.in(Phase.SUSPECT))) {
        observer.suspect(this);
        if (now.phase() == Phase.CONFIRMED) {
          observer.uncertain(this);
        }
        return false;
      }
    }
  }

  /**
   * Whether the store confirmed it lately enough for somebody else to start on it. Marks nothing.
   */
  boolean isFresh() {
    Standing now = standing;
    return now.phase() == Phase.CONFIRMED && now.term().isFresh(time);
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
    while (stands()) {
      long leftNanos = standing.term().deadlineNanos() - time.nanos();
      if (leftNanos > 0) {
        return Duration.ofNanos(leftNanos);
      }
    }
    return Duration.ZERO;
  }

  Standing standing() {
    return standing;
  }

  /** Whether a grant that just arrived is over already. */
  enum Lapse {
    NONE,
    TTL,
    MAX_HOLD
  }

  Lapse lapse() {
    Standing now = standing;
    if (!now.isPast(time.nanos())) {
      return Lapse.NONE;
    }
    return endsAtCap(now) ? Lapse.MAX_HOLD : Lapse.TTL;
  }

  /** How much longer the name must stay taken because of the minimum hold. */
  Duration minHoldLeft() {
    long leftNanos = Nanos.of(options.minHold()) - (time.nanos() - grantedAtNanos);
    return leftNanos <= 0 ? Duration.ZERO : Duration.ofNanos(leftNanos);
  }

  /**
   * The store confirmed the grant. Ignored if that comes after the deadline: somebody may have been
   * told that the lease is gone.
   *
   * @param asked before the question was sent
   * @return false: the question was sent too long ago to settle a doubt; ask again
   */
  boolean confirmed(Moment asked, Duration validFor) {
    Term answered = term(asked, Nanos.of(validFor));
    while (true) {
      Standing now = standing;
      if (now.isOver()) {
        return true;
      }
      if (now.isPast(time.nanos())) {
        if (expire(now)) {
          return true;
        }
        continue;
      }
      boolean newer = answered.askedAtNanos() - now.term().askedAtNanos() >= 0;
      Standing next = now.confirmed(newer ? answered : now.term());
      if (now.phase() == Phase.SUSPECT && next.isOutrun(WallClock.aheadNanos(time))) {
        return false;
      }
      if (replace(now, next)) {
        if (now.phase() != Phase.CONFIRMED) {
          observer.confirmed(this);
        }
        return true;
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
        if (expire(now)) {
          return false;
        }
      } else if (replace(now, now.in(Phase.ENDING))) {
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

  /** False: it changed meanwhile, and may have been confirmed. */
  private boolean expire(Standing past) {
    LeaseLoss.Reason reason =
        endsAtCap(past) ? LeaseLoss.Reason.MAX_HOLD : LeaseLoss.Reason.EXPIRED;
    if (replace(past, past.lost(reason))) {
      observer.lost(this, reason);
      return true;
    }
    return false;
  }

  /** Whether it ends because of its maximum hold. */
  private boolean endsAtCap(Standing now) {
    return capped && now.term().deadlineNanos() == capNanos;
  }

  private Term term(Moment asked, long validForNanos) {
    Term term = Term.of(asked, validForNanos);
    return capped ? term.cappedAt(capNanos) : term;
  }
}
