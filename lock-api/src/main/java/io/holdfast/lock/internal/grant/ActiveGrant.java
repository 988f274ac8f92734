package io.holdfast.lock.internal.grant;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.grant.GrantState.Phase;
import io.holdfast.lock.internal.task.Task;
import io.holdfast.lock.internal.time.ClockReading;
import io.holdfast.lock.internal.time.Clocks;
import io.holdfast.lock.internal.time.DriftAllowance;
import io.holdfast.lock.internal.time.Nanos;
import io.holdfast.lock.internal.time.Validity;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.function.UnaryOperator;

/**
 * A grant of the store, from its arrival to its release or loss, as this client sees it. It can
 * have several holders, one after the other (hand-off).
 *
 * <p>Threads: any. Queries and changes of state never block.
 */
public final class ActiveGrant extends Task {
  /*
   * Overview.
   *
   * Its state is one immutable GrantState:
   *
   *   CONFIRMED               -- unanswered, suspended ----> UNANSWERED
   *   CONFIRMED, UNANSWERED   -- the wall clock ran ahead -> SUSPECT
   *   UNANSWERED, SUSPECT     -- the store confirms -------> CONFIRMED
   *   any of these three      -- the deadline, lose -------> LOST
   *   any of these three      -- beginEnd -----------------> ENDING
   *   ENDING                  -- endReleased --------------> RELEASED
   *   ENDING                  -- endLost ------------------> LOST
   *   ENDING                  -- endUnconfirmed -----------> RELEASED, or LOST if it was suspect
   *
   * Up to ENDING, any thread replaces it, by compare-and-set; the one that does tells the observer,
   * once, with nothing locked. From then on, only the thread that releases it does, and it tells
   * listeners itself. So `lose` and `beginEnd` race, and one of them wins.
   *
   * The thread that finds a loss does not settle it, since it may be the keeper, a store's thread,
   * or a user's that merely asked isHeld(): the grant is a Task, and submitting it can't fail.
   *
   * Deadlines are calculated in Validity only. An answer to a request that was sent before the
   * grant became uncertain does not make it certain.
   */

  /** Told of changes, on the thread that made them. Only {@link #settle} may throw; none blocks. */
  public interface Observer {
    /** The store must be asked about the grant at once, since the wall clock ran ahead. */
    void askAtOnce(ActiveGrant grant);

    /**
     * The grant became uncertain, or certain again.
     *
     * @param changes the number of such changes so far; odd if it became uncertain
     */
    void certaintyChanged(ActiveGrant grant, int changes);

    /** The grant was lost; {@link #settle} must be called on another thread. */
    void lost(ActiveGrant grant);

    /** Settles a loss, as far as that is not done. */
    void settle(ActiveGrant grant);
  }

  private static final AtomicReferenceFieldUpdater<ActiveGrant, GrantState> STATE =
      AtomicReferenceFieldUpdater.newUpdater(ActiveGrant.class, GrantState.class, "state");

  private final Grant grant;
  private final LockOptions options;
  private final Clocks time;
  private final Observer observer;
  private final long grantedAtNanos;

  /** The end of the maximum hold; far in the future if there is none. */
  private final long capNanos;

  private final RenewalSchedule schedule;

  /** The end of the minimum hold; {@link #grantedAtNanos} while there is none. */
  private final AtomicLong heldUntilNanos;

  /** The longest TTL that the store was asked for. */
  private final AtomicLong longestTtlNanos;

  private volatile GrantState state;

  /**
   * Whether the grant was suspect when its holder closed it: then only the store knows whether it
   * was valid to the end.
   */
  private volatile boolean endsSuspect;

  /** The number of changes of certainty that were told; accessed only by the telling thread. */
  private int changesTold;

  /** @param asked the clocks before the request was sent */
  public ActiveGrant(
      Grant grant, LockOptions options, ClockReading asked, Clocks time, Observer observer) {
    this.grant = grant;
    this.options = options;
    this.time = time;
    this.observer = observer;
    this.grantedAtNanos = time.nanos();
    this.heldUntilNanos = new AtomicLong(grantedAtNanos);
    this.capNanos = asked.nanos() + options.maxHold().map(Nanos::of).orElse(Nanos.FOREVER);
    long ttlNanos = Nanos.of(options.ttl());
    this.longestTtlNanos = new AtomicLong(ttlNanos);
    long validForNanos = Math.min(ttlNanos, Nanos.of(grant.validFor()));
    this.schedule =
        new RenewalSchedule(time, options.isRenewed(), ttlNanos, asked.nanos(), validForNanos);
    long limitNanos = options.isRenewed() ? capNanos : fixedEnd(asked, ttlNanos);
    this.state = GrantState.granted(Validity.of(asked, validForNanos, limitNanos, grantedAtNanos));
  }

  /** Returns the store's grant. */
  public Grant grant() {
    return grant;
  }

  /** Returns the lock's key. */
  public LockKey key() {
    return grant.claim().key();
  }

  /** Returns the options that the lock was asked for with. */
  public LockOptions options() {
    return options;
  }

  /** Returns the schedule by which the store is asked about this grant. */
  public RenewalSchedule schedule() {
    return schedule;
  }

  /** Returns the time at which the grant arrived. */
  public long grantedAtNanos() {
    return grantedAtNanos;
  }

  /** Returns the state as it was last found; a deadline may have passed since. */
  public GrantState state() {
    return state;
  }

  /**
   * Whether it is valid by the local clocks. If not, marks it lost, or suspect if the wall clock
   * ran ahead. No I/O.
   */
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

  /** Whether enough time is left for another holder to start. Changes no state. */
  public boolean isFresh() {
    GrantState now = state;
    return now.phase() == Phase.CONFIRMED && now.validity().isFresh(time.read());
  }

  /** Returns the state that the holder sees. */
  public LeaseState leaseState() {
    // First, since it marks a deadline that has passed.
    boolean stands = stands();
    return switch (state.phase()) {
      // If it does not stand, it was suspect a moment ago, and was confirmed since.
      case CONFIRMED -> stands ? LeaseState.HELD : LeaseState.UNCERTAIN;
      case UNANSWERED, SUSPECT, ENDING -> LeaseState.UNCERTAIN;
      case RELEASED -> LeaseState.RELEASED;
      case LOST -> LeaseState.LOST;
    };
  }

  /** Returns the time until the deadline, or zero if the grant is not valid. */
  public Duration remaining() {
    while (stands()) {
      long leftNanos = state.validity().deadlineNanos() - time.nanos();
      if (leftNanos > 0) {
        return Duration.ofNanos(leftNanos);
      }
    }
    return Duration.ZERO;
  }

  /**
   * Whether the store may still show it though it is lost: the client ended it without the store.
   */
  public boolean isLostHereOnly() {
    LeaseLoss.Reason lostBy = state.lostBy();
    return lostBy == LeaseLoss.Reason.EXPIRED || lostBy == LeaseLoss.Reason.MAX_HOLD;
  }

  /** Returns the longest time for which the name can stay taken if this process dies now. */
  public Duration crashBound() {
    return grant.crashBound(Duration.ofNanos(longestTtlNanos.get()));
  }

  /**
   * Notes that the store is about to be asked to extend the lease: it may do so even if it does not
   * answer.
   */
  public void extending(Duration ttl) {
    long unused = longestTtlNanos.accumulateAndGet(Nanos.of(ttl), Math::max);
  }

  /** Makes the exception for a lease that is no longer valid. */
  public LockLostException lostException(long token) {
    LeaseLoss.Reason lostBy = state.lostBy();
    return new LockLostException(
        key().name(), token, lostBy == null ? LeaseLoss.Reason.EXPIRED : lostBy);
  }

  /** Checks the grant on its arrival, before it has a holder. Changes no state and tells nobody. */
  public Arrival arrival() {
    Validity validity = state.validity();
    ClockReading now = time.read();
    if (validity.isPast(now.nanos())) {
      return endsAtCap(validity) ? Arrival.LAPSED_AT_MAX_HOLD : Arrival.LAPSED;
    }
    return validity.isOutrun(now.wallAheadNanos()) ? Arrival.SUSPECT : Arrival.STANDS;
  }

  /** Returns the time for which the minimum hold still keeps the name taken. */
  public Duration minHoldLeft() {
    long untilNanos = heldUntilNanos.get();
    // Reads no clock if there is none.
    return untilNanos == grantedAtNanos
        ? Duration.ZERO
        : Duration.ofNanos(Math.max(0, untilNanos - time.nanos()));
  }

  /** Makes the minimum hold last for at least this long from now. */
  public void holdFor(Duration atLeast) {
    if (!atLeast.isZero()) {
      holdUntil(time.nanos() + Nanos.of(atLeast));
    }
  }

  /** Puts the minimum hold into effect, since a caller gets a lease; it counts from the arrival. */
  public void beginMinHold() {
    holdUntil(grantedAtNanos + Nanos.of(options.minHold()));
  }

  private void holdUntil(long untilNanos) {
    long unused = heldUntilNanos.accumulateAndGet(untilNanos, Nanos::later);
  }

  /**
   * Takes in that the store renewed the lease, as {@code LockStore.renew} does.
   *
   * @param asked the clocks before the request was sent
   * @return false if it became uncertain after the request; the store must be asked again
   */
  public boolean renewed(ClockReading asked, Duration validFor) {
    long validForNanos = Math.min(Nanos.of(options.ttl()), Nanos.of(validFor));
    long answeredNanos = time.nanos();
    Validity answered = Validity.of(asked, validForNanos, capNanos, answeredNanos);
    return takeIn(asked, before -> answered);
  }

  /**
   * Takes in that the store extended the lease, as {@code LockStore.extend} does: a fixed one, or
   * one that it handed over and that is not renewed yet.
   *
   * @param asked the clocks before the request was sent
   * @param ttl the time that the store was asked for
   * @param validFor the time that the store promised
   * @return false if it became uncertain after the request; the store must be asked again
   */
  public boolean extended(ClockReading asked, Duration ttl, Duration validFor) {
    long answeredNanos = time.nanos();
    long ttlNanos = Nanos.of(ttl);
    long validForNanos = Nanos.of(validFor);
    schedule.extended(asked.nanos(), asked.nanos() + ttlNanos, validForNanos);
    return takeIn(
        asked,
        before -> before.extended(
            asked,
            validForNanos,
            Nanos.later(before.limitNanos(), fixedEnd(asked, ttlNanos)),
            answeredNanos));
  }

  /**
   * Takes in that the store confirmed the grant without extending it.
   *
   * @param asked the clocks before the request was sent
   * @param left the time that the store said is left
   * @return false if it became uncertain after the request; the store must be asked again
   */
  public boolean verified(ClockReading asked, Duration left) {
    long answeredNanos = time.nanos();
    long leftNanos = Nanos.of(left);
    return takeIn(
        asked, before -> before.verified(asked, leftNanos, !options.isRenewed(), answeredNanos));
  }

  /**
   * Takes in that a request about the grant went unanswered, or that its session is suspended: it
   * is uncertain until a request that is sent from now on is answered.
   */
  public void unanswered() {
    while (true) {
      GrantState now = state;
      if (now.isOver()) {
        return;
      }
      // SUSPECT is the graver phase and remains, but it now needs a later answer.
      Phase next = now.phase() == Phase.SUSPECT ? Phase.SUSPECT : Phase.UNANSWERED;
      if (replace(now, now.uncertain(next, time.nanos()))) {
        return;
      }
    }
  }

  /**
   * Moves on to the next change of certainty that listeners were not told of; false if there is
   * none up to {@code upTo}. {@link #isChangeToUncertain} then says what the change was. Called
   * only by the thread that tells listeners of such changes.
   */
  public boolean tellNextChange(int upTo) {
    if (upTo - changesTold <= 0) {
      return false;
    }
    changesTold++;
    return true;
  }

  /** Whether the change that is being told made the grant uncertain. */
  public boolean isChangeToUncertain() {
    return (changesTold & 1) != 0;
  }

  /** Makes the grant lost, unless it is over already. */
  public void lose(LeaseLoss.Reason reason) {
    GrantState now;
    do {
      now = state;
    } while (!now.isOver() && !lose(now, reason));
  }

  /**
   * Begins the end of the grant by its holder: from now on neither renewal nor expiry changes it.
   *
   * @return false if it is over already; {@link #state} says how
   */
  public boolean beginEnd() {
    while (true) {
      GrantState now = state;
      if (now.isOver()) {
        return false;
      }
      ClockReading clocks = time.read();
      if (now.validity().isPast(clocks.nanos())) {
        if (expire(now)) {
          return false;
        }
        continue;
      }
      endsSuspect =
          now.phase() == Phase.SUSPECT || now.validity().isOutrun(clocks.wallAheadNanos());
      if (replace(now, now.ended(Phase.ENDING))) {
        return true;
      }
    }
  }

  /** Ends the grant as released: the store said that it was valid to the end. */
  public void endReleased() {
    state = state.ended(Phase.RELEASED);
  }

  /**
   * Ends the grant, after {@link #beginEnd()}, if the store did not say whether it was valid to the
   * end. By our clocks it was, so it counts as released; but as lost if the machine may have slept,
   * since another client may have had the lock meanwhile.
   */
  public void endUnconfirmed() {
    GrantState now = state;
    state = endsSuspect ? now.lost(LeaseLoss.Reason.EXPIRED) : now.ended(Phase.RELEASED);
  }

  /** Ends the grant as lost: the store said that it had been gone before. */
  public void endLost() {
    state = state.lost(LeaseLoss.Reason.TAKEN);
  }

  /** Settles its loss: {@code Settlement.settle}. */
  @Override
  protected void work() {
    observer.settle(this);
  }

  /**
   * Takes in an answer, unless it comes after the deadline: a caller may have been told that the
   * lease is gone. Returns false if the grant remains uncertain.
   */
  private boolean takeIn(ClockReading asked, UnaryOperator<Validity> answer) {
    while (true) {
      GrantState now = state;
      if (now.isOver()) {
        return true;
      }
      ClockReading clocks = time.read();
      if (now.validity().isPast(clocks.nanos())) {
        if (expire(now)) {
          return true;
        }
        continue;
      }
      Validity answered = answer.apply(now.validity());
      boolean settles = !now.isUncertain() || asked.nanos() - now.uncertainNanos() >= 0;
      if (now.phase() == Phase.SUSPECT && answered.isOutrun(clocks.wallAheadNanos())) {
        // The wall clock ran ahead again after the request was sent.
        settles = false;
      }
      if (replace(now, settles ? now.confirmed(answered) : now.with(answered))) {
        return settles;
      }
    }
  }

  private boolean suspect(GrantState now, long nowNanos) {
    if (!replace(now, now.uncertain(Phase.SUSPECT, nowNanos))) {
      return false;
    }
    observer.askAtOnce(this);
    return true;
  }

  private boolean replace(GrantState expected, GrantState next) {
    if (!STATE.compareAndSet(this, expected, next)) {
      return false;
    }
    if (next.changes() != expected.changes()) {
      observer.certaintyChanged(this, next.changes());
    }
    return true;
  }

  /** Has a loss settled again, in case the thread that found it died before it submitted it. */
  public void settleAgain() {
    if (state.phase() == Phase.LOST) {
      observer.lost(this);
    }
  }

  /**
   * Makes the grant lost by its deadline; false if the state changed meanwhile, since it may have
   * been confirmed.
   */
  private boolean expire(GrantState past) {
    return lose(
        past, endsAtCap(past.validity()) ? LeaseLoss.Reason.MAX_HOLD : LeaseLoss.Reason.EXPIRED);
  }

  private boolean lose(GrantState now, LeaseLoss.Reason reason) {
    if (!replace(now, now.lost(reason))) {
      return false;
    }
    observer.lost(this);
    return true;
  }

  /** Whether the deadline is that of the maximum hold. */
  private boolean endsAtCap(Validity validity) {
    return validity.deadlineNanos() == capNanos;
  }

  private static long fixedEnd(ClockReading asked, long ttlNanos) {
    return asked.nanos() + ttlNanos - DriftAllowance.ofNanos(ttlNanos);
  }
}
