package io.holdfast.lock.internal;

import io.holdfast.lock.LockClientClosedException;
import io.holdfast.lock.LockListener.Source;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.event.Events;
import io.holdfast.lock.internal.log.SafeLogger;
import io.holdfast.lock.internal.queue.Entry;
import io.holdfast.lock.internal.queue.Handle;
import io.holdfast.lock.internal.queue.WaitQueue;
import io.holdfast.lock.internal.queue.Waiter;
import io.holdfast.lock.internal.task.Task;
import io.holdfast.lock.internal.time.Clocks;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.StoreException;
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
   * An attempt owns, at different times, the use of a queue, a place in it, a turn to lead, and a
   * handle; the turn (LeaderTurn) owns an open claim, a ticket, and a grant. Each is a field, set
   * when the attempt gets it and cleared when it passes it on. However the attempt ends, `undo`
   * gives back what is left in the fields. If that fails (a full heap, a deep stack), another
   * thread goes on where this one stopped: the attempt is a task, and submitting it can't fail.
   *
   *   acquire:  enter the queue --> reentered | handed on | taken | leads --> LeaderTurn
   */

  private static final SafeLogger log = SafeLogger.of(Attempt.class);

  private final EngineClient client;
  private final LockKey key;
  private final LockOptions options;
  private final WaitMode mode;
  private final HandOut<T> handOut;
  private final Events.Acquiring acquiring;
  private final Clocks time;
  private final Thread thread = Thread.currentThread();

  // Owned

  private @Nullable WaitQueue queue;
  private @Nullable Waiter waiter;
  private @Nullable Handle handle;

  /**
   * Allocated in advance: when the thread becomes the leader, its turn must not be lost for lack of
   * memory.
   */
  private final LeaderTurn turn;

  // Known

  /** Whether the caller's interrupt flag is to be set again at the end. */
  private boolean interrupted;

  private @Nullable String holder;

  /** Converts a handle to what the caller gets. */
  interface HandOut<T> {
    T of(Handle handle);
  }

  /** The outcome of a call to acquire a lock. */
  sealed interface Outcome<T> {}

  /** The caller has the lock. */
  record Acquired<T>(T got) implements Outcome<T> {}

  /**
   * The lock stayed taken.
   *
   * @param holder the lock's holder, as far as known
   */
  record Taken<T>(@Nullable String holder) implements Outcome<T> {}

  Attempt(
      EngineClient client,
      LockKey key,
      int permits,
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
    this.time = client.time();
    this.turn = new LeaderTurn(this, client, key, permits, options, mode, acquiring);
  }

  Outcome<T> run() throws InterruptedException {
    if (mode.interruptible() && Thread.interrupted()) {
      throw new InterruptedException();
    }
    interrupted = Thread.interrupted();
    try {
      requireOpen();
      Source source = acquire();
      Handle got = handle;
      if (source == null || got == null) {
        return new Taken<>(holder);
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

  /** Gives back everything that this attempt still owns, on another thread if that fails here. */
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
          turn.begin(used, place);
        } else if (place.news() instanceof Waiter.HandedOn handedOn) {
          handle = handedOn.handle();
        }
      }
      waiter = null;
    }
    turn.undo();
    giveBackHandle();
    if (queue != null) {
      queue = null;
      client.queues().leave(used);
    }
  }

  private void giveBackHandle() {
    Handle unwanted = handle;
    if (unwanted != null) {
      client.settlement().abandon(unwanted);
      handle = null;
    }
  }

  /** Returns the source of the handle that the attempt now has, or null if the lock is taken. */
  private @Nullable Source acquire() throws InterruptedException {
    while (true) {
      WaitQueue used = queue;
      if (used == null) {
        used = client.queues().use(key);
        queue = used;
      }
      // Stored before it enters, so that undo() finds what the waiter was given, wherever this
      // thread fails.
      Waiter place = new Waiter(thread, options);
      waiter = place;
      Entry entry = used.enter(place, mode.waits());
      if (entry instanceof Entry.Reentered reentered) {
        return reenter(reentered.handle());
      } else if (entry instanceof Entry.Taken known) {
        holder = known.holder();
        return null;
      } else if (entry instanceof Entry.Closed) {
        throw closed();
      }
      if (entry instanceof Entry.Leads) {
        turn.begin(used, place);
        waiter = null;
      } else if (entry instanceof Entry.Queued queued) {
        tellWait(queued);
        Waiter.News news = awaitNews(used, place);
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
          // The lease was lost during the hand-off: queue again.
          continue;
        }
        turn.begin(used, place);
        waiter = null;
      }
      if (!turn.askStore()) {
        return null;
      } else if (handle != null) {
        return Source.STORE;
      }
      // The grant was lost before it could be handed out: start again.
    }
  }

  private void tellWait(Entry.Queued queued) {
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
    waiter = null;
    if (!client.questions().settle(reentered.hold().grant())) {
      throw reentered.hold().lostException();
    }
    return Source.REENTRANT;
  }

  private boolean takeHandedOn(WaitQueue used, Handle handedOn) throws InterruptedException {
    handle = handedOn;
    waiter = null;
    if (mode.interruptible() && Thread.interrupted()) {
      throw new InterruptedException();
    }
    if (handedOn.isHeld() && used.holds().take(handedOn)) {
      return true;
    }
    giveBackHandle();
    return false;
  }

  /**
   * Waits in the client's queue for news. On return the waiter has left the queue; what the news
   * gives it is still to be taken.
   */
  private Waiter.News awaitNews(WaitQueue used, Waiter place) throws InterruptedException {
    long untilNanos = mode.waits() ? mode.untilNanos() : time.nanos();
    long graceEndsNanos = untilNanos + client.storeTimeoutNanos();
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
      noteInterrupt();
    }
  }

  /**
   * Takes the first handle of the hold that the leader's turn ended with. From now on the hold owns
   * the grant and the use of the queue.
   */
  void granted(Handle first) {
    handle = first;
    queue = null;
  }

  /** Called when the grant was lost before the caller could get it. */
  void lostEarly() {
    giveBackHandle();
  }

  /** Handles a pending interrupt: ends the attempt, or keeps the interrupt for the caller. */
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

  LockClientClosedException closed() {
    return new LockClientClosedException(key.name());
  }

  /** Keeps an interrupt that ended nothing, so that the flag is set again for the caller. */
  void keepInterrupt() {
    interrupted = true;
  }

  // For the turn, and the wait in the store's line

  Thread thread() {
    return thread;
  }

  WaitMode mode() {
    return mode;
  }

  Clocks time() {
    return time;
  }

  LockOptions options() {
    return options;
  }

  void sawHolder(@Nullable String description) {
    holder = description;
  }

  long storeTimeoutNanos() {
    return client.storeTimeoutNanos();
  }
}
