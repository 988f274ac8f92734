package io.holdfast.lock.internal;

import io.holdfast.lock.LockClientClosedException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.PermitsMismatchException;
import io.holdfast.lock.internal.event.Events;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.grant.Arrival;
import io.holdfast.lock.internal.queue.EarlyEvents;
import io.holdfast.lock.internal.queue.Handle;
import io.holdfast.lock.internal.queue.Token;
import io.holdfast.lock.internal.queue.WaitQueue;
import io.holdfast.lock.internal.queue.Waiter;
import io.holdfast.lock.internal.time.ClockReading;
import io.holdfast.lock.internal.time.Nanos;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.PermitGrant;
import io.holdfast.lock.spi.PermitsDifferException;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * An attempt's turn to ask the store, as the leader of its wait queue. At different times it owns
 * the leader's role, a claim, a place in the store's line, and a grant that is not held yet.
 * {@link #undo} gives back what it owns.
 */
final class LeaderTurn {
  /**
   * The pause before queueing again once the store has lost the place twice; it doubles each time.
   */
  private static final long PAUSE_NANOS_MIN = 1_000_000;

  private static final long PAUSE_NANOS_MAX = 1_000_000_000;

  private final Parts parts;
  private final Settlement settlement;
  private final Request request;
  private final Interrupts interrupts;
  private final Events.Acquiring acquiring;

  // Owned

  private @Nullable WaitQueue queue;

  /** The leader, as the queue knows it; null if it no longer leads. */
  private @Nullable Waiter leader;

  /** A claim that may have something at the store: a place, or a grant that was not reported. */
  private @Nullable Claim openClaim;

  private @Nullable Ticket ticket;

  /** The wait in the store's line; set before each request that may join it. */
  private @Nullable StoreWait wait;

  private @Nullable Grant grant;

  // What undo() tells those who wait behind the leader

  /** That the lock is taken, or the store's failure; null if nobody is told anything. */
  private Waiter.@Nullable News news;

  /** Whether it is told to all of them, and not only to those whose time is over. */
  private boolean newsForAll;

  LeaderTurn(
      Parts parts,
      Settlement settlement,
      Request request,
      Interrupts interrupts,
      Events.Acquiring acquiring) {
    this.parts = parts;
    this.settlement = settlement;
    this.request = request;
    this.interrupts = interrupts;
    this.acquiring = acquiring;
  }

  /** Begins the turn: the attempt leads this queue from now on. */
  void begin(WaitQueue entered, Waiter waiter) {
    queue = entered;
    leader = waiter;
  }

  private WaitQueue queue() {
    return Objects.requireNonNull(queue);
  }

  /**
   * Gives back what this turn still owns, which can take a request: the store's line is left before
   * the next thread leads. Each step clears its field, so that this can be called again.
   *
   * @return the handle, if the leader was already the holder when the turn was cut short; the
   *     caller must take it, and call {@link #passedOn}
   */
  @Nullable
  Handle undo() {
    leaveLine();
    withdraw();
    Waiter leading = leader;
    if (leading != null && leading.news() instanceof Waiter.Acquired acquired) {
      return acquired.handle();
    }
    giveBackGrant();
    if (leading != null) {
      queue().endLeading(leading, news, newsForAll);
      leader = null;
    }
    return null;
  }

  /** Ends a turn that got the lock: the attempt has the handle, whose hold owns the grant. */
  void passedOn() {
    grant = null;
    leader = null;
  }

  private void leaveLine() {
    Ticket left = ticket;
    Claim claim = openClaim;
    StoreWait waited = wait;
    if (left != null && claim != null && waited != null) {
      if (waited.storeSlow) {
        parts.cleanup().leaveLineLater(left, claim);
        if (waited.unanswered) {
          // The request may come after the place was left; a withdrawal is repeated for that.
          parts.cleanup().withdraw(claim);
        }
      } else {
        parts.cleanup().leaveLine(left, claim);
      }
      openClaim = null;
      ticket = null;
    }
  }

  private void withdraw() {
    Claim claim = openClaim;
    if (claim != null) {
      parts.cleanup().withdraw(claim);
      openClaim = null;
    }
  }

  private void giveBackGrant() {
    Grant unheld = grant;
    if (unheld != null) {
      settlement.giveBackUnseen(unheld);
      grant = null;
    }
  }

  /**
   * Asks the store, and waits if the mode says so.
   *
   * @return that the lock is taken, or that it was acquired; then {@link #passedOn} must follow
   */
  Waiter.News askStore() throws InterruptedException {
    LockKey key = request.key();
    WaitMode mode = request.waitMode();
    while (true) {
      try {
        news = null;
        return ask();
      } catch (StoreException e) {
        if (e instanceof PermitsDifferException differ
            && request.mode() instanceof Claim.Permit asked) {
          throw new PermitsMismatchException(key.name(), asked.of(), differ.stored());
        }
        news = new Waiter.StoreFailed(e);
        // Drivers and pools fail if the thread is interrupted. Such a failure, like an Error, says
        // nothing about the store, so only those whose time is over are told of it.
        boolean interruptedMeanwhile = Thread.interrupted();
        if (!interruptedMeanwhile) {
          newsForAll = !(e.getCause() instanceof Error);
          throw StoreCalls.failure(key, e);
        }
        if (mode.interruptible()) {
          InterruptedException interruptedException = new InterruptedException();
          interruptedException.addSuppressed(e);
          throw interruptedException;
        }
        interrupts.keep();
        if (!mode.waits()) {
          throw StoreCalls.failure(key, e);
        }
        // This wait can't be interrupted: gives back what the request left, and asks again.
        leaveLine();
        withdraw();
        giveBackGrant();
      }
    }
  }

  /**
   * Asks until there is a result: again if the place in the line is gone, if the grant was over
   * before it arrived, or if what has the lock can be an earlier attempt of this client.
   */
  private Waiter.News ask() throws StoreException, InterruptedException {
    long pauseNanos = 0;
    boolean withdrawn = false;
    while (true) {
      parts.requireOpen(request.key().name());
      Claim claim = parts.claims().next(request);
      queue().earlyEvents().asksWith(claim.ownerId());
      parts.keeper().watchClock();
      ClockReading asked = parts.time().read();
      boolean handedOver = false;
      if (request.waitMode().stillWaits(parts.time())) {
        StoreWait storeWait = new StoreWait(parts, request, interrupts, queue(), asked);
        wait = storeWait;
        Acquisition acquisition = call(claim, c -> parts.store().acquireOrQueue(c, storeWait));
        if (acquisition instanceof Acquisition.Queued queued) {
          openClaim = claim;
          ticket = queued.ticket();
          acquiring.waiting();
          // If it was one of these that had the lock, it is this one's turn now.
          boolean unused = withdrawEarlier();
          Ticket.Status status = storeWait.await(queued.ticket(), queued.recheckAfter());
          if (status instanceof Ticket.Waiting) {
            news = new Waiter.Taken(queued.ticket().holder().orElse(null));
            return news;
          } else if (status instanceof Ticket.Gone) {
            leaveLine();
            pause(pauseNanos);
            pauseNanos = Math.max(PAUSE_NANOS_MIN, Math.min(2 * pauseNanos, PAUSE_NANOS_MAX));
            continue;
          }
          grant = ((Ticket.Granted) status).grant();
          asked = storeWait.asked;
          handedOver = storeWait.handedOver;
          ticket = null;
          openClaim = null;
        } else {
          grant = ((Acquisition.Granted) acquisition).grant();
        }
      } else {
        grant = call(claim, parts.store()::tryAcquire).orElse(null);
        if (grant == null) {
          if (!withdrawn && withdrawEarlier()) {
            withdrawn = true;
            continue;
          }
          news = new Waiter.Taken(null);
          return news;
        }
      }
      Waiter.News held = accept(grant, asked, handedOver);
      if (held != null) {
        return held;
      }
    }
  }

  /**
   * Withdraws earlier attempts of this client for this name, to which the store gave no answer: one
   * of them may have the lock. Returns whether there were any.
   */
  private boolean withdrawEarlier() throws StoreException {
    return StoreCalls.call(() -> parts.cleanup().withdrawUnanswered(request.key()));
  }

  /** Checks that what a semaphore grants is one of its permits. */
  private void requirePermit(Grant granted) throws StoreException {
    if (!(request.mode() instanceof Claim.Permit asked)) {
      return;
    }
    if (!(granted instanceof PermitGrant got)) {
      throw unusable("The store gave what is no grant of a permit: " + granted, null);
    }
    if (got.permit() < 0 || got.permit() >= asked.of()) {
      throw unusable(
          "The store gave what is no grant: permit " + got.permit() + " of " + asked.of(), null);
    }
  }

  /**
   * Makes the leader the holder of a grant. Returns null if the grant was over before it arrived,
   * and the store must be asked again.
   *
   * @param handedOver whether the store gave the grant without a request, for a short time
   */
  private Waiter.@Nullable News accept(Grant granted, ClockReading asked, boolean handedOver)
      throws StoreException, InterruptedException {
    interrupts.check();
    LockOptions options = request.options();
    requirePermit(granted);
    ActiveGrant active;
    try {
      // Checks that the number is in range.
      long unused = Token.of(granted.number(), 0);
      active = new ActiveGrant(granted, options, asked, parts.time(), settlement);
    } catch (RuntimeException e) {
      throw unusable("The store gave what is no grant: " + e.getMessage(), e);
    }
    Arrival arrival = arrivalOf(active);
    if (arrival == Arrival.STANDS) {
      if (handedOver) {
        active.schedule().handedOver();
      }
      return hold(active, asked.nanos());
    }
    if (arrival != Arrival.GONE) {
      parts.cleanup().release(granted, active.crashBound(), Duration.ZERO);
    }
    grant = null;
    if (arrival == Arrival.LAPSED_AT_MAX_HOLD) {
      throw unusable("It took longer to answer than maxHold is", null);
    }
    if (arrival == Arrival.LAPSED) {
      requireTimeAfterLapse();
    }
    return null;
  }

  /**
   * Checks, when a lease was over before its caller had it, that there is time to wait for the
   * lock. If not, the store is not asked again: it would call the lock taken, by that lease.
   */
  void requireTimeAfterLapse() {
    if (!request.waitMode().stillWaits(parts.time())) {
      throw unusable(
          "The lease was over before its caller had it, for example since the answer took longer"
              + " than its TTL, "
              + request.options().ttl(),
          null);
    }
  }

  /**
   * Determines whether a grant is valid on its arrival. If the machine slept while the answer was
   * on its way, another client may have the lock by now, so the store is asked.
   *
   * @return anything but {@code SUSPECT}
   */
  private Arrival arrivalOf(ActiveGrant active) throws StoreException {
    while (true) {
      Arrival arrival = active.arrival();
      if (arrival != Arrival.SUSPECT) {
        return arrival;
      }
      ClockReading asked = parts.time().read();
      Optional<Duration> left = StoreCalls.call(() -> parts.store().verify(active.grant()));
      if (left.isEmpty()) {
        return Arrival.GONE;
      }
      boolean unused = active.verified(asked, left.get());
    }
  }

  /**
   * Makes the leader the holder, and takes in what the store has said about the grant meanwhile.
   */
  private Waiter.News hold(ActiveGrant active, long askedNanos) {
    Waiter leading = Objects.requireNonNull(leader);
    if (queue().granted(leading, active, askedNanos) == null) {
      throw new LockClientClosedException(request.key().name());
    }
    parts.keeper().keep(active);
    EarlyEvents.Event early = queue().earlyEvents().take(active);
    if (early != null) {
      settlement.heard(active, early);
    }
    return Objects.requireNonNull(leading.news());
  }

  /** A call to the store with a claim. */
  private interface ClaimCall<A> {
    A run(Claim claim) throws StoreException;
  }

  /** Makes a call with a claim, which stays open if the call may have been carried out unseen. */
  private <A> A call(Claim claim, ClaimCall<A> call) throws StoreException {
    openClaim = claim;
    try {
      A answer = call.run(claim);
      openClaim = null;
      return answer;
    } catch (Throwable e) {
      StoreException failure = StoreCalls.failureOfStore(e);
      if (!failure.mayHaveHappened()) {
        openClaim = null;
      }
      throw failure;
    }
  }

  /** Pauses, but not beyond the end of the wait. */
  private void pause(long nanos) throws InterruptedException {
    long untilNanos =
        Nanos.earlier(parts.time().nanos() + nanos, request.waitMode().untilNanos());
    long left;
    while ((left = untilNanos - parts.time().nanos()) > 0) {
      parts.requireOpen(request.key().name());
      parts.time().park(this, left);
      interrupts.check();
    }
  }

  private LockStoreException unusable(String message, @Nullable Throwable cause) {
    return StoreCalls.failure(request.key(), StoreException.refused(message, cause));
  }
}
