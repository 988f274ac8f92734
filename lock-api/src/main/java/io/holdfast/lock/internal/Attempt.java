package io.holdfast.lock.internal;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockClientClosedException;
import io.holdfast.lock.LockListener.Source;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.LockStoreException;
import io.holdfast.lock.internal.event.Events;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.log.SafeLogger;
import io.holdfast.lock.internal.queue.EarlyEvents;
import io.holdfast.lock.internal.queue.Handle;
import io.holdfast.lock.internal.queue.WaitQueue;
import io.holdfast.lock.internal.queue.Waiter;
import io.holdfast.lock.internal.task.StackReserve;
import io.holdfast.lock.internal.task.Task;
import io.holdfast.lock.internal.time.ClockReading;
import io.holdfast.lock.internal.time.Nanos;
import io.holdfast.lock.spi.Acquisition;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.LockStore;
import io.holdfast.lock.spi.StoreException;
import io.holdfast.lock.spi.Ticket;
import io.holdfast.lock.spi.TimeSource;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One call that wants a lock: it enters the wait queue, asks the store when it is its turn, and
 * waits in the store's queue. Used by one thread, once.
 *
 * @param <T> what the caller gets for a handle
 */
final class Attempt<T> extends Task {
  /*
   * Overview.
   *
   * An attempt owns, at different times, the use of a queue, a place in it, the leader's role, an
   * open claim, a ticket, a grant, and a handle. Each is a field, set when it is got and cleared when
   * it is given on. Whatever ends the attempt, `undo` gives back what is left in the fields. If that
   * fails in turn (a full heap, a deep stack), the attempt is a task, submitting it can't fail, and
   * another thread goes on where this one stopped.
   *
   *   acquire:  enter the queue --> reentered | handed on | taken | leads
   *   askStore: as the leader, ask; a failure is told to those behind
   *   ask:      tryAcquire, or acquireOrQueue and then StoreWait
   *   begin:    make a grant the holder, if it stands
   */

  private static final SafeLogger log = SafeLogger.of(Attempt.class);

  /** The pauses before a place is asked for anew that the store lost more than once. */
  private static final long PAUSE_NANOS_MIN = 1_000_000;

  private static final long PAUSE_NANOS_MAX = 1_000_000_000;

  private final EngineClient client;
  private final LockKey key;
  private final LockOptions options;
  private final WaitMode mode;
  private final HandOut<T> handOut;
  private final Events.Acquiring acquiring;
  private final LockStore store;
  private final TimeSource time;
  private final Thread thread = Thread.currentThread();

  // Owned

  private @Nullable WaitQueue queue;
  private @Nullable Waiter waiter;
  private boolean leads;
  private @Nullable Claim openClaim;
  private @Nullable Ticket ticket;
  private @Nullable Grant grant;
  private @Nullable Handle handle;

  // Known

  /** Why the leader got no usable answer. */
  private @Nullable StoreException failure;

  /** Why the leader has no answer, where that says nothing about the store. */
  private @Nullable StoreException brokenOff;

  /** Whether the store said last that the lock is taken. */
  private boolean taken;

  /** The ticket is not to be closed on the caller's time. */
  private boolean leavesInBackground;

  /** A question from the store's queue may have been granted without our knowing. */
  private boolean unanswered;

  /** An interrupt that the caller finds again afterwards. */
  private boolean interrupted;

  private @Nullable String holder;

  /** Makes what the caller gets of an acquisition. */
  interface HandOut<T> {
    T of(Handle handle);
  }

  /** The outcome of a call that wants a lock. */
  sealed interface Outcome<T> {}

  /** The lock is the caller's. */
  record Acquired<T>(T got) implements Outcome<T> {}

  /**
   * The lock stayed taken.
   *
   * @param waited the time that the call took
   * @param holder the lock's holder, as far as known
   */
  record Taken<T>(Duration waited, @Nullable String holder) implements Outcome<T> {}

  Attempt(
      EngineClient client,
      LockKey key,
      LockOptions options,
      WaitMode mode,
      HandOut<T> handOut,
      Events.Acquiring acquiring) {
    this.client = client;
    this.key = key;
    this.options = options;
    this.mode = mode;
    this.handOut = handOut;
    this.acquiring = acquiring;
    this.store = client.store();
    this.time = client.time();
  }

  Outcome<T> run() throws InterruptedException {
    if (mode.interruptible() && Thread.interrupted()) {
      throw new InterruptedException();
    }
    StackReserve.ensure();
    interrupted = Thread.interrupted();
    try {
      requireOpen();
      Source source = acquire();
      Handle got = handle;
      if (source == null || got == null) {
        return new Taken<>(acquiring.waited(), holder);
      }
      Outcome<T> outcome = new Acquired<>(handOut.of(got));
      acquiring.acquired(got.hold().token(), source);
      handle = null;
      return outcome;
    } finally {
      undo();
      if (interrupted) {
        thread.interrupt();
      }
    }
  }

  /** Gives back what this attempt still owns; on another thread if it can't be done here. */
  private void undo() {
    boolean done = false;
    try {
      work();
      done = true;
    } finally {
      if (!done) {
        client.cleaners().submit(this);
      }
    }
  }

  @Override
  protected void work() {
    WaitQueue used = queue;
    if (used == null) {
      giveBackHandle();
      return;
    }
    Waiter place = waiter;
    if (place != null) {
      if (!used.leave(place)) {
        if (place.news() instanceof Waiter.YourTurn) {
          leads = true;
        } else if (place.news() instanceof Waiter.HandedOn handedOn) {
          handle = handedOn.handle();
        }
      }
      waiter = null;
    }
    leaveStoreQueue();
    withdraw();
    giveBackGrant();
    if (leads) {
      if (failure != null) {
        used.leadingFailed(failure);
      } else {
        used.endLeading(taken, brokenOff);
      }
      leads = false;
    }
    giveBackHandle();
    queue = null;
    client.queues().leave(used);
  }

  private void giveBackHandle() {
    Handle unwanted = handle;
    if (unwanted != null) {
      client.settlement().abandon(unwanted);
      handle = null;
    }
  }

  private void leaveStoreQueue() {
    Ticket place = ticket;
    Claim claim = openClaim;
    if (place != null && claim != null) {
      if (leavesInBackground) {
        client.cleanup().leave(place, claim);
        if (unanswered) {
          client.cleanup().withdraw(claim);
        }
      } else {
        try {
          place.close();
        } catch (Throwable e) {
          client.cleanup().withdraw(claim);
          log.debug("The queue of lock '{}' could not be left; again in background", key.name(), e);
        }
      }
      openClaim = null;
      ticket = null;
    }
  }

  private void withdraw() {
    Claim claim = openClaim;
    if (claim != null) {
      client.cleanup().withdraw(claim);
      openClaim = null;
    }
  }

  private void giveBackGrant() {
    Grant unused = grant;
    if (unused != null) {
      client.settlement().giveBackUnseen(unused);
      grant = null;
    }
  }

  /** Null: the lock is taken. Otherwise there is a handle. */
  private @Nullable Source acquire() throws InterruptedException {
    while (true) {
      WaitQueue used = queue;
      if (used == null) {
        used = client.queues().use(key);
        queue = used;
      }
      WaitQueue.Entry entry = used.enter(thread, options, mode.waits());
      if (entry instanceof WaitQueue.Reentered reentered) {
        return reenter(reentered.handle());
      } else if (entry instanceof WaitQueue.Taken known) {
        holder = known.holder();
        return null;
      } else if (entry instanceof WaitQueue.Closed) {
        throw closed();
      }
      if (entry instanceof WaitQueue.Leads) {
        leads = true;
      } else if (entry instanceof WaitQueue.Queued queued) {
        waiter = queued.waiter();
        tellWait(queued);
        Waiter.News news = awaitNews(used, queued.waiter());
        if (news instanceof Waiter.Taken known) {
          holder = known.holder();
          return null;
        } else if (news instanceof Waiter.StoreFailed failed) {
          throw StoreCalls.failureAhead(key, failed.failure());
        } else if (news instanceof Waiter.ClientClosed) {
          throw closed();
        } else if (news instanceof Waiter.HandedOn handedOn) {
          if (takeHandedOn(used, handedOn.handle())) {
            return Source.LOCAL_HAND_OFF;
          }
          // Lost on the way from one thread to the other: stand in the queue again.
          continue;
        }
        leads = true;
      }
      if (!askStore(used)) {
        return null;
      } else if (handle != null) {
        return Source.STORE;
      }
      // Granted, and lost before it could be handed out: from the beginning.
    }
  }

  private void tellWait(WaitQueue.Queued queued) {
    if (mode.waits()) {
      acquiring.waiting();
    }
    if (queued.behindItself()) {
      acquiring.waitsForItself();
      log.warn(
          "Thread '{}' waits for lock '{}', whose open lease it acquired itself; if it is the one"
              + " that is to close that lease, it waits for ever",
          thread.getName(),
          key.name());
    }
  }

  private Source reenter(Handle reentered) {
    handle = reentered;
    if (!client.questions().settle(reentered.hold().grant())) {
      throw reentered.hold().lostException();
    }
    return Source.REENTRANT;
  }

  private boolean takeHandedOn(WaitQueue used, Handle handedOn) throws InterruptedException {
    handle = handedOn;
    if (mode.interruptible() && Thread.interrupted()) {
      throw new InterruptedException();
    }
    if (handedOn.isHeld() && used.holds().take(handedOn)) {
      return true;
    }
    giveBackHandle();
    return false;
  }

  /** Waits in the queue of the client; has left it on return. */
  private Waiter.News awaitNews(WaitQueue used, Waiter place) throws InterruptedException {
    long untilNanos = mode.waits() ? mode.untilNanos() : time.nanos();
    long graceEndsNanos = untilNanos + client.storeTimeoutNanos();
    while (true) {
      Waiter.News news = place.news();
      if (news != null) {
        waiter = null;
        return news;
      }
      long nowNanos = time.nanos();
      long leftNanos = untilNanos - nowNanos;
      if (leftNanos <= 0) {
        used.timeIsUp(place);
        leftNanos = graceEndsNanos - nowNanos;
        if (leftNanos <= 0 && used.leave(place)) {
          waiter = null;
          return new Waiter.StoreFailed(StoreException.unanswered(
              "The thread ahead has no answer within the store timeout", null));
        }
      }
      if (place.news() == null) {
        time.park(this, Math.max(1, leftNanos));
      }
      noteInterrupt();
    }
  }

  /** As the leader. False: the lock is taken. */
  private boolean askStore(WaitQueue used) throws InterruptedException {
    while (true) {
      try {
        return ask(used);
      } catch (StoreException e) {
        boolean interruptedMeanwhile = Thread.interrupted();
        if (!interruptedMeanwhile && !(e.getCause() instanceof Error)) {
          failure = e;
          throw StoreCalls.failure(key, e);
        }
        brokenOff = e;
        if (!interruptedMeanwhile) {
          throw StoreCalls.failure(key, e);
        }
        // Drivers and pools fail when they are interrupted; that says nothing about the store.
        if (mode.interruptible()) {
          InterruptedException interruptedException = new InterruptedException();
          interruptedException.addSuppressed(e);
          throw interruptedException;
        }
        interrupted = true;
        if (!mode.waits()) {
          throw StoreCalls.failure(key, e);
        }
        leaveStoreQueue();
        withdraw();
      }
    }
  }

  private boolean ask(WaitQueue used) throws StoreException, InterruptedException {
    long pauseNanos = 0;
    while (true) {
      requireOpen();
      Claim claim = client.claims().next(key, options);
      used.earlyEvents().asksWith(claim.ownerId());
      taken = false;
      ClockReading asked = ClockReading.of(time);
      boolean confirmed = true;
      if (mode.stillWaits(time)) {
        StoreWait wait = new StoreWait(this, used, asked);
        Acquisition acquisition = call(claim, () -> store.acquireOrQueue(claim, wait));
        if (acquisition instanceof Acquisition.Queued queued) {
          openClaim = claim;
          ticket = queued.ticket();
          acquiring.waiting();
          Ticket.Status status = wait.await(queued.ticket(), queued.recheckAfter());
          if (status instanceof Ticket.Waiting) {
            taken = true;
            return false;
          } else if (status instanceof Ticket.Gone) {
            leaveStoreQueue();
            pause(pauseNanos);
            pauseNanos = Math.max(PAUSE_NANOS_MIN, Math.min(2 * pauseNanos, PAUSE_NANOS_MAX));
            continue;
          }
          grant = ((Ticket.Granted) status).grant();
          asked = wait.asked();
          confirmed = !wait.isHandedOver();
          ticket = null;
          openClaim = null;
        } else {
          grant = ((Acquisition.Granted) acquisition).grant();
        }
      } else {
        grant = call(claim, () -> store.tryAcquire(claim)).orElse(null);
        if (grant == null) {
          taken = true;
          return false;
        }
      }
      if (begin(used, grant, asked, confirmed)) {
        return true;
      }
    }
  }

  /**
   * Makes a grant the holder. False: it was over before it arrived, and is given back; ask again.
   */
  private boolean begin(WaitQueue used, Grant granted, ClockReading asked, boolean confirmed)
      throws StoreException, InterruptedException {
    if (mode.interruptible() && Thread.interrupted()) {
      throw new InterruptedException();
    }
    ActiveGrant active;
    try {
      active = new ActiveGrant(granted, options, asked, time, client);
    } catch (RuntimeException e) {
      throw unusable("The store gave what is no grant: " + e.getMessage(), e);
    }
    switch (settled(active)) {
      case STANDS -> {
        if (!confirmed) {
          active.schedule().unconfirmed();
        }
        hold(used, active);
        return true;
      }
      case DOUBTED -> {
        // The store no longer shows it.
        grant = null;
        return false;
      }
      case LAPSED -> {
        client.cleanup().release(granted, Duration.ZERO);
        grant = null;
        if (!mode.stillWaits(time)) {
          throw unusable("It took longer to answer than the lease lasts: " + options.ttl(), null);
        }
        return false;
      }
      case LAPSED_AT_MAX_HOLD -> {
        client.cleanup().release(granted, Duration.ZERO);
        grant = null;
        throw unusable("It took longer to answer than maxHold is", null);
      }
    }
    throw new AssertionError("All arrivals are dealt with");
  }

  /**
   * Whether a grant stands on its arrival. A machine that slept while the answer was on its way has
   * a grant that is another's by now, or not: the store knows.
   */
  private ActiveGrant.Arrival settled(ActiveGrant active) throws StoreException {
    while (true) {
      ActiveGrant.Arrival arrival = active.arrival();
      if (arrival != ActiveGrant.Arrival.DOUBTED) {
        return arrival;
      }
      ClockReading asked = ClockReading.of(time);
      Optional<Duration> left = StoreCalls.call(() -> store.verify(active.grant()));
      if (left.isEmpty()) {
        return ActiveGrant.Arrival.DOUBTED;
      }
      boolean unused = active.verified(asked, left.get());
    }
  }

  private void hold(WaitQueue used, ActiveGrant active) {
    Handle first;
    try {
      first = used.granted(active, thread);
    } catch (RuntimeException e) {
      throw unusable("The store gave what is no grant: " + e.getMessage(), e);
    }
    if (first == null) {
      throw closed();
    }
    // The hold has the grant now, and the use of the queue.
    handle = first;
    grant = null;
    leads = false;
    queue = null;
    client.keeper().keep(active);
    EarlyEvents.Event early = used.earlyEvents().take(active);
    if (early != null) {
      LeaseLoss.Reason lostBy = early.lostBy();
      if (lostBy == null) {
        client.suspended(active);
      } else {
        active.lose(lostBy);
        giveBackHandle();
      }
    }
  }

  /** A call about a claim, which is open until there is an answer. */
  <A> A call(Claim claim, StoreCalls.Call<A> call) throws StoreException {
    openClaim = claim;
    try {
      A answer = StoreCalls.call(call);
      openClaim = null;
      return answer;
    } catch (StoreException e) {
      if (!e.mayHaveHappened()) {
        openClaim = null;
      }
      throw e;
    }
  }

  private void pause(long nanos) throws InterruptedException {
    long untilNanos = Nanos.earlier(time.nanos() + nanos, mode.untilNanos());
    for (long left = nanos; left > 0; left = untilNanos - time.nanos()) {
      requireOpen();
      time.park(this, left);
      noteInterrupt();
    }
  }

  /** Ends the attempt, or remembers the interrupt for the caller. */
  void noteInterrupt() throws InterruptedException {
    if (Thread.interrupted()) {
      if (mode.interruptible()) {
        throw new InterruptedException();
      }
      interrupted = true;
    }
  }

  void requireOpen() {
    if (client.isClosed()) {
      throw closed();
    }
  }

  private LockClientClosedException closed() {
    return new LockClientClosedException(key.name());
  }

  private LockStoreException unusable(String message, @Nullable Throwable cause) {
    return StoreCalls.failure(key, StoreException.refused(message, cause));
  }

  // For the wait in the store's queue

  Thread thread() {
    return thread;
  }

  WaitMode mode() {
    return mode;
  }

  TimeSource time() {
    return time;
  }

  LockOptions options() {
    return options;
  }

  void sawHolder(@Nullable String description) {
    holder = description;
  }

  void leaveInBackground() {
    leavesInBackground = true;
  }

  void failed(StoreException e) {
    leavesInBackground = true;
    unanswered = e.mayHaveHappened();
  }

  long storeTimeoutNanos() {
    return client.storeTimeoutNanos();
  }
}
