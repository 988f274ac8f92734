package io.holdfast.lock.internal.grant;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.grant.GrantState.Phase;
import io.holdfast.lock.internal.task.StackReserve;
import io.holdfast.lock.internal.task.Task;
import io.holdfast.lock.internal.time.ClockReading;
import io.holdfast.lock.internal.time.Clocks;
import io.holdfast.lock.internal.time.DriftAllowance;
import io.holdfast.lock.internal.time.Nanos;
import io.holdfast.lock.internal.time.Validity;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.function.UnaryOperator;

/**
 * A grant of the store from its beginning to its release or loss, as this client sees it. One
 * holder after the other may live in it (hand-off).
 *
 * <p>Threads: any. Safe to ask from a thread that must not block.
 */
public final class ActiveGrant extends Task {
  /*
   * Overview.
   *
   * All that is known is one immutable GrantState, replaced by compare-and-set. Whoever makes a
   * swap tells the observer of it, once, with nothing locked:
   *
   *                      unanswered, suspended
   *          CONFIRMED <----------------------> UNANSWERED
   *              |  ^                               |
   *              |  | the store confirms            | the wall clock ran ahead
   *              v  |                               v
   *             SUSPECT <---------------------------+
   *
   *     any of these three -- beginEnd --> ENDING -- endReleased --> RELEASED
   *                        \                      \- endLost ------> LOST
   *                         \- deadline, lose ---------------------> LOST
   *
   * The rest of a loss is not done by whoever finds it, which may be the keeper, a store's
   * thread, or a user who merely asked isHeld(): the grant is a Task, and submitting it can't fail.
   *
   * The one rule of deadlines is in Validity. A question that was sent before a doubt was told does
   * not settle it.
   */

  /** Told on the thread that made the change; throws nothing and blocks nowhere. */
  public interface Observer {
    /** The store is to be asked at once. */
    void doubted(ActiveGrant grant);

    /**
     * It became uncertain, or certain again.
     *
     * @param doubts how often it has done either by now; odd: it became uncertain
     */
    void doubtChanged(ActiveGrant grant, int doubts);

    /** It was lost; {@link #settle} is to be called on another thread. */
    void lost(ActiveGrant grant);

    /** Does what a loss leaves to do, as far as it is not done. */
    void settle(ActiveGrant grant);
  }

  private static final AtomicReferenceFieldUpdater<ActiveGrant, GrantState> STATE =
      AtomicReferenceFieldUpdater.newUpdater(ActiveGrant.class, GrantState.class, "state");

  private final Grant grant;
  private final LockOptions options;
  private final Clocks time;
  private final Observer observer;
  private final long grantedAtNanos;
  private final boolean capped;
  private final long capNanos;
  private final RenewalSchedule schedule;
  private volatile GrantState state;

  /** The number of changes of its doubts that were told; owned by the thread that tells. */
  private int doubtsTold;

  /** @param asked before the request was sent */
  public ActiveGrant(
      Grant grant, LockOptions options, ClockReading asked, Clocks time, Observer observer) {
    this.grant = grant;
    this.options = options;
    this.time = time;
    this.observer = observer;
    this.grantedAtNanos = time.nanos();
    this.capped = options.maxHold().isPresent();
    this.capNanos = asked.nanos() + Nanos.of(options.maxHold().orElse(Duration.ZERO));
    long ttlNanos = Nanos.of(options.ttl());
    long validForNanos = Math.min(ttlNanos, Nanos.of(grant.validFor()));
    this.schedule =
        new RenewalSchedule(time, options.isRenewed(), ttlNanos, asked.nanos(), validForNanos);
    long limitNanos = options.isRenewed() ? limit(asked) : fixedEnd(asked, ttlNanos);
    this.state = GrantState.granted(Validity.of(asked, validForNanos, limitNanos, grantedAtNanos));
  }

  /** The store's own. */
  public Grant grant() {
    return grant;
  }

  /** The lock that it is of. */
  public LockKey key() {
    return grant.claim().key();
  }

  /** The options that it was asked for with. */
  public LockOptions options() {
    return options;
  }

  /** The times at which the store is asked about it. */
  public RenewalSchedule schedule() {
    return schedule;
  }

  /** The time of its arrival. */
  public long grantedAtNanos() {
    return grantedAtNanos;
  }

  /** The state, as it was found last: a deadline may have passed since. */
  public GrantState state() {
    return state;
  }

  /** Whether the lease stands by our own clocks. Marks what it finds. No I/O. */
  public boolean stands() {
    while (true) {
      GrantState now = state;
      if (now.isOver()) {
        return false;
      }
      Validity validity = now.validity();
      ClockReading clocks = time.read();
      if (validity.isPast(clocks.nanos())) {
        if (expire(now)) {
          return false;
        }
      } else if (now.phase() == Phase.SUSPECT) {
        return false;
      } else if (validity.isOutrun(clocks.wallAheadNanos())) {
        if (suspect(now, clocks.nanos())) {
          return false;
        }
      } else {
        return true;
      }
    }
  }

  /**
   * Whether the store confirmed it lately enough for somebody else to start on it. Marks nothing.
   */
  public boolean isFresh() {
    GrantState now = state;
    return now.phase() == Phase.CONFIRMED && now.validity().isFresh(time.read());
  }

  /** The state that its holder sees. */
  public LeaseState leaseState() {
    boolean stands = stands();
    return switch (state.phase()) {
      // Asked for before, so that a deadline that has passed shows.
      case CONFIRMED -> stands ? LeaseState.HELD : LeaseState.UNCERTAIN;
      case UNANSWERED, SUSPECT, ENDING -> LeaseState.UNCERTAIN;
      case RELEASED -> LeaseState.RELEASED;
      case LOST -> LeaseState.LOST;
    };
  }

  /** The time until the deadline; zero if it does not stand. */
  public Duration remaining() {
    while (stands()) {
      long leftNanos = state.validity().deadlineNanos() - time.nanos();
      if (leftNanos > 0) {
        return Duration.ofNanos(leftNanos);
      }
    }
    return Duration.ZERO;
  }

  /** Whether the store may still show it though it is lost: nobody has told the store. */
  public boolean isLostHereOnly() {
    LeaseLoss.Reason lostBy = state.lostBy();
    return lostBy == LeaseLoss.Reason.EXPIRED || lostBy == LeaseLoss.Reason.MAX_HOLD;
  }

  /** For a lease of it that does not stand. */
  public LockLostException lostException(long token) {
    LeaseLoss.Reason lostBy = state.lostBy();
    return new LockLostException(
        key().name(), token, lostBy == null ? LeaseLoss.Reason.EXPIRED : lostBy);
  }

  /** The worth of a grant that just arrived. */
  public enum Arrival {
    /** It stands. */
    STANDS,
    /** A clock says that the machine slept while it was on its way: the store is to be asked. */
    DOUBTED,
    /** Its TTL is over. */
    LAPSED,
    /** Its maximum hold is over. */
    LAPSED_AT_MAX_HOLD
  }

  /** Looks at it on its arrival, before anybody has it. Marks and tells nothing. */
  public Arrival arrival() {
    Validity validity = state.validity();
    ClockReading now = time.read();
    if (validity.isPast(now.nanos())) {
      return endsAtCap(validity) ? Arrival.LAPSED_AT_MAX_HOLD : Arrival.LAPSED;
    }
    return validity.isOutrun(now.wallAheadNanos()) ? Arrival.DOUBTED : Arrival.STANDS;
  }

  /** The time for which the name must still stay taken because of the minimum hold. */
  public Duration minHoldLeft() {
    if (options.minHold().isZero()) {
      return Duration.ZERO;
    }
    long leftNanos = Nanos.of(options.minHold()) - (time.nanos() - grantedAtNanos);
    return leftNanos <= 0 ? Duration.ZERO : Duration.ofNanos(leftNanos);
  }

  /**
   * The store extended a renewed lease to its TTL.
   *
   * @param asked before the request was sent
   * @return false: a doubt that is younger than the request remains; ask again
   */
  public boolean renewed(ClockReading asked, Duration validFor) {
    long validForNanos = Math.min(Nanos.of(options.ttl()), Nanos.of(validFor));
    long answeredNanos = time.nanos();
    Validity answered = Validity.of(asked, validForNanos, limit(asked), answeredNanos);
    return settle(asked, before -> answered);
  }

  /**
   * The store gave a fixed lease more time.
   *
   * @param ttl what it was asked for
   * @param validFor what it promised
   * @return false: a doubt that is younger than the request remains; ask again
   */
  public boolean extended(ClockReading asked, Duration ttl, Duration validFor) {
    long answeredNanos = time.nanos();
    long ttlNanos = Nanos.of(ttl);
    long validForNanos = Nanos.of(validFor);
    schedule.extended(asked.nanos(), asked.nanos() + ttlNanos, validForNanos);
    return settle(
        asked,
        before -> before.extended(
            asked,
            validForNanos,
            Nanos.later(before.limitNanos(), fixedEnd(asked, ttlNanos)),
            answeredNanos));
  }

  /**
   * The store confirmed that the grant has the lock, and did not extend it.
   *
   * @param left what the store said is left
   * @return false: a doubt that is younger than the question remains; ask again
   */
  public boolean verified(ClockReading asked, Duration left) {
    long answeredNanos = time.nanos();
    long leftNanos = Nanos.of(left);
    return settle(
        asked, before -> before.verified(asked, leftNanos, !options.isRenewed(), answeredNanos));
  }

  /**
   * A question about it went unanswered, or its session is suspended: uncertain until a question
   * that is sent from now on is answered.
   */
  public void unanswered() {
    while (true) {
      GrantState now = state;
      if (now.isOver()) {
        return;
      }
      // A graver doubt remains what it is, and needs a younger answer too.
      Phase next = now.phase() == Phase.SUSPECT ? Phase.SUSPECT : Phase.UNANSWERED;
      if (doubt(now, next, time.nanos())) {
        return;
      }
    }
  }

  /**
   * For the one thread that tells listeners of doubts: whether there is another change up to this
   * one to be told, which {@link #isToldUncertain} then names.
   */
  public boolean tellNextDoubt(int upTo) {
    if (upTo - doubtsTold <= 0) {
      return false;
    }
    doubtsTold++;
    return true;
  }

  /** Whether it became uncertain by the change that is being told. */
  public boolean isToldUncertain() {
    return (doubtsTold & 1) != 0;
  }

  /** It is lost, unless it is over already. */
  public void lose(LeaseLoss.Reason reason) {
    StackReserve.ensure();
    while (true) {
      GrantState now = state;
      if (now.isOver()) {
        return;
      }
      if (replace(now, now.lost(reason))) {
        observer.lost(this);
        return;
      }
    }
  }

  /**
   * Its holder lets go of it: from now on neither renewal nor expiry changes it.
   *
   * @return false: it is over, and {@link #state} says how
   */
  public boolean beginEnd() {
    while (true) {
      GrantState now = state;
      if (now.isOver()) {
        return false;
      }
      if (now.validity().isPast(time.nanos())) {
        if (expire(now)) {
          return false;
        }
      } else if (replace(now, now.ended(Phase.ENDING))) {
        return true;
      }
    }
  }

  /** After {@link #beginEnd()}: the holder was the holder to the end, as far as anybody knows. */
  public void endReleased() {
    state = state.ended(Phase.RELEASED);
  }

  /** After {@link #beginEnd()}: the store said that the grant had been gone before. */
  public void endLost() {
    state = state.lost(LeaseLoss.Reason.TAKEN);
  }

  @Override
  protected void work() {
    observer.settle(this);
  }

  /** Takes an answer in, whatever else happens meanwhile; false: a doubt remains. */
  private boolean settle(ClockReading asked, UnaryOperator<Validity> answer) {
    while (true) {
      GrantState now = state;
      Settled settled = settle(now, asked, answer.apply(now.validity()));
      if (settled != Settled.AGAIN) {
        return settled == Settled.YES;
      }
    }
  }

  private enum Settled {
    YES,
    /** It changed meanwhile. */
    AGAIN,
    /** A doubt remains. */
    NO
  }

  /**
   * Takes an answer in. Ignored if it comes after the deadline: somebody may have been told that
   * the lease is gone.
   */
  private Settled settle(GrantState now, ClockReading asked, Validity answered) {
    if (now.isOver()) {
      return Settled.YES;
    }
    ClockReading clocks = time.read();
    if (now.validity().isPast(clocks.nanos())) {
      return expire(now) ? Settled.YES : Settled.AGAIN;
    }
    boolean settles = !now.isDoubted() || asked.nanos() - now.doubtedNanos() >= 0;
    if (now.phase() == Phase.SUSPECT && answered.isOutrun(clocks.wallAheadNanos())) {
      settles = false;
    }
    GrantState next = settles ? now.confirmed(answered) : now.with(answered);
    if (!replace(now, next)) {
      return Settled.AGAIN;
    }
    if (next.doubts() != now.doubts()) {
      observer.doubtChanged(this, next.doubts());
    }
    return settles ? Settled.YES : Settled.NO;
  }

  private boolean suspect(GrantState now, long nowNanos) {
    StackReserve.ensure();
    GrantState doubted = now.doubted(Phase.SUSPECT, nowNanos);
    if (!replace(now, doubted)) {
      return false;
    }
    observer.doubted(this);
    if (doubted.doubts() != now.doubts()) {
      observer.doubtChanged(this, doubted.doubts());
    }
    return true;
  }

  private boolean doubt(GrantState now, Phase next, long nowNanos) {
    GrantState doubted = now.doubted(next, nowNanos);
    if (!replace(now, doubted)) {
      return false;
    }
    if (doubted.doubts() != now.doubts()) {
      observer.doubtChanged(this, doubted.doubts());
    }
    return true;
  }

  private boolean replace(GrantState expected, GrantState next) {
    return STATE.compareAndSet(this, expected, next);
  }

  /** Has the loss settled again, in case the first time was cut short. */
  public void settleAgain() {
    if (state.phase() == Phase.LOST) {
      observer.lost(this);
    }
  }

  /** False: it changed meanwhile, and may have been confirmed. */
  private boolean expire(GrantState past) {
    StackReserve.ensure();
    LeaseLoss.Reason reason =
        endsAtCap(past.validity()) ? LeaseLoss.Reason.MAX_HOLD : LeaseLoss.Reason.EXPIRED;
    if (replace(past, past.lost(reason))) {
      observer.lost(this);
      return true;
    }
    return false;
  }

  /** Whether it ends because of its maximum hold. */
  private boolean endsAtCap(Validity validity) {
    return capped && validity.deadlineNanos() == capNanos;
  }

  /** The latest deadline of a renewed lease: only a maximum hold sets one. */
  private long limit(ClockReading asked) {
    return capped ? capNanos : asked.nanos() + Nanos.FOREVER;
  }

  private static long fixedEnd(ClockReading asked, long ttlNanos) {
    return asked.nanos() + ttlNanos - DriftAllowance.ofNanos(ttlNanos);
  }
}
