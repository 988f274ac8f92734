package io.holdfast.lock.internal;

import io.holdfast.lock.LockClientClosedException;
import io.holdfast.lock.LockListener.Source;
import io.holdfast.lock.internal.event.Events;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.log.SafeLogger;
import io.holdfast.lock.internal.queue.Handle;
import io.holdfast.lock.internal.queue.WaitQueue;
import io.holdfast.lock.internal.queue.Waiter;
import io.holdfast.lock.internal.task.Task;
import io.holdfast.lock.internal.time.Clocks;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.StoreException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One call to acquire a lock: it enters the wait queue, asks the store when its turn comes, and
 * waits in the store's line. Used by one thread, once.
 *
 * @param <T> the type that the caller gets for a handle
 */
final class Attempt<T> extends Task {
  /*
   * Overview.
   *
   * An attempt owns, at different times, the use of a wait queue, a place in it, a turn to lead it
   * (LeaderTurn), and a handle; the turn owns an open claim, a ticket, and a grant. Each is kept in
   * a field for as long as it is owned. However the attempt ends, `work` gives back what is left in
   * the fields. If that fails (a full heap, for example), another thread runs `work` again.
   */

  private static final SafeLogger log = SafeLogger.of(Attempt.class);

  private final Parts parts;
  private final Settlement settlement;
  private final Questions questions;
  private final Request request;
  private final Function<Handle, T> handOut;
  private final Events.Acquiring acquiring;
  private final Interrupts interrupts;
  private final Thread thread = Thread.currentThread();

  // Owned

  private @Nullable WaitQueue queue;
  private @Nullable Waiter waiter;
  private @Nullable Handle handle;

  /**
   * Allocated in advance: when the thread becomes the leader, the turn must not be lost for lack of
   * memory.
   */
  private final LeaderTurn turn;

  /** The outcome of a call to acquire a lock. */
  sealed interface Outcome<T> {}

  /** The caller has the lock. */
  record Acquired<T>(T got) implements Outcome<T> {}

  /**
   * The lock stayed taken.
   *
   * @param lockName the lock's name
   * @param holder its holder, as far as known
   */
  record Taken<T>(String lockName, @Nullable String holder) implements Outcome<T> {}

  /** @param handOut converts a handle to what the caller gets */
  Attempt(
      Parts parts,
      Settlement settlement,
      Questions questions,
      Request request,
      Function<Handle, T> handOut,
      Events.Acquiring acquiring) {
    this.parts = parts;
    this.settlement = settlement;
    this.questions = questions;
    this.request = request;
    this.handOut = handOut;
    this.acquiring = acquiring;
    this.interrupts = new Interrupts(request.waitMode());
    this.turn = new LeaderTurn(parts, settlement, request, interrupts, acquiring);
  }

  Outcome<T> run() throws InterruptedException {
    interrupts.check();
    try {
      parts.requireOpen(name());
      return acquire();
    } finally {
      try {
        runHere(parts.cleaners());
      } finally {
        interrupts.restore();
      }
    }
  }

  /** Gives back all that this attempt still owns. */
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
          turn.begin(used, place);
        } else if (place.news() instanceof Waiter.Acquired got) {
          takeFromOther(got);
        }
      }
      waiter = null;
    }
    Handle granted = turn.undo();
    if (granted != null) {
      takeFromTurn(granted);
    }
    giveBackHandle();
    endUse();
  }

  private void endUse() {
    WaitQueue used = queue;
    if (used != null) {
      queue = null;
      parts.queues().endUse(used);
    }
  }

  private void giveBackHandle() {
    Handle unwanted = handle;
    if (unwanted != null) {
      settlement.giveBack(unwanted);
      handle = null;
    }
  }

  private Outcome<T> acquire() throws InterruptedException {
    boolean joins = request.mode() instanceof Claim.Shared;
    while (true) {
      WaitQueue used = queue;
      Long joinsAtNanos = joins ? parts.time().nanos() : null;
      if (used == null) {
        used = parts.queues().use(request.key(), request.mode(), thread, joinsAtNanos);
        queue = used;
      }
      // Stored before it enters: wherever this thread fails, `work` finds here what it was given.
      Waiter place = new Waiter(thread, request.options(), request.mode());
      waiter = place;
      if (joinsAtNanos != null && isFresh(used)) {
        place.joinAt(joinsAtNanos);
      }
      Waiter.News news = used.enter(place, request.waitMode().waits());
      if (news == null) {
        tellWait(place);
        news = awaitNews(used, place);
      }
      if (news instanceof Waiter.YourTurn) {
        turn.begin(used, place);
        waiter = null;
        news = turn.askStore();
      }
      if (news instanceof Waiter.Taken known) {
        return new Taken<>(name(), known.holder());
      } else if (news instanceof Waiter.StoreFailed failed) {
        throw StoreCalls.failureAhead(request.key(), failed.failure());
      } else if (news instanceof Waiter.ClientClosed) {
        throw new LockClientClosedException(name());
      } else if (news instanceof Waiter.Elsewhere) {
        waiter = null;
        endUse();
        joins = false; // Else it could come to the same queue again.
      } else if (news instanceof Waiter.Acquired acquired) {
        if (take(acquired)) {
          return acquired(acquired);
        }
        // The lease was lost before this thread had it: queue again.
        giveBackHandle();
        if (acquired.handle().hold().grant().isLostHereOnly()) {
          turn.requireTimeAfterLapse();
        }
      }
    }
  }

  private static boolean isFresh(WaitQueue used) {
    ActiveGrant grant = used.grant();
    return grant != null && grant.stands() && grant.isFresh();
  }

  private Outcome<T> acquired(Waiter.Acquired got) {
    Outcome<T> outcome = new Acquired<>(handOut.apply(got.handle()));
    // A failure from here on gives the handle back, until the field is cleared.
    endUse();
    acquiring.acquired(got.handle().hold().token(), got.source());
    handle = null;
    return outcome;
  }

  private void tellWait(Waiter place) {
    if (request.waitMode().waits()) {
      acquiring.waiting();
    }
    if (place.isBehindItself()) {
      acquiring.waitsForItself();
      log.warn(
          "Thread '{}' waits for lock '{}', whose open lease it acquired itself; if it is the one"
              + " that is to close that lease, it waits for ever",
          thread.getName(),
          name());
    }
  }

  /** Takes the lease that the news brought; false if it was lost on the way. */
  private boolean take(Waiter.Acquired acquired) throws InterruptedException {
    Handle got = acquired.handle();
    if (acquired.source() == Source.STORE) {
      takeFromTurn(got);
      return got.hold().receive();
    }
    takeFromOther(acquired);
    if (acquired.source() != Source.REENTRANT) {
      interrupts.check();
      return got.isHeld() && got.hold().receive();
    }
    if (!questions.standsOrVerify(got.hold().grant())) {
      throw got.hold().lostException();
    }
    return got.hold().receive();
  }

  /** Takes the lease that another thread gave, or that this one had. */
  private void takeFromOther(Waiter.Acquired acquired) {
    handle = acquired.handle();
    waiter = null;
    if (acquired.source() == Source.SHARED) {
      queue = null; // Its hold owns the use of the queue.
    }
  }

  /** Takes the lease that the turn ended with: now its hold owns the grant and the queue's use. */
  private void takeFromTurn(Handle granted) {
    handle = granted;
    queue = null;
    turn.passedOn();
  }

  /** Waits in the wait queue for news. What the news brings must still be taken. */
  private Waiter.News awaitNews(WaitQueue used, Waiter place) throws InterruptedException {
    Clocks time = parts.time();
    WaitMode mode = request.waitMode();
    long untilNanos = mode.waits() ? mode.untilNanos() : time.nanos();
    // After its own time the waiter waits for the leader's answer, up to one store timeout.
    long graceEndsNanos = untilNanos + parts.storeTimeoutNanos();
    while (true) {
      Waiter.News news = place.news();
      if (news != null) {
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
      interrupts.check();
    }
  }

  private String name() {
    return request.key().name();
  }
}
