package io.holdfast.lock.internal;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.Waiter.News;
import io.holdfast.lock.spi.LockKey;
import io.holdfast.lock.spi.StoreException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What the threads of one client share about one name: who holds it, who asks the store for it, and
 * who waits behind. Pure bookkeeping: no I/O, no waiting, and no user code.
 *
 * <p>Of a line's threads at most one is the holder or talks to the store about getting or giving
 * back the lock; the rest stand in order of arrival.
 *
 * <p>Threads: any; everything is guarded by the line's mutex, under which nothing else is locked.
 */
final class Line {
  private final LockKey key;

  /** How many calls and holds use this line; guarded by {@link Lines}. */
  int users;

  private final ReentrantLock mutex = new ReentrantLock();
  private final Deque<Waiter> waiting = new ArrayDeque<>();

  /** Lost, but not closed by their owners yet. */
  private final List<Hold> lost = new ArrayList<>(0);

  private @Nullable Hold holder;
  private boolean talking;

  /** The talker asked for the lock, and has no answer yet. */
  private boolean unanswered;

  private @Nullable Runnable wakeTalker;
  private boolean clientClosed;

  /** Waiters whose time is over, and who wait only for the talker's answer. */
  private int overdue;

  /** The first of those to be woken once the mutex is free. */
  private @Nullable Waiter toWake;

  Line(LockKey key) {
    this.key = key;
  }

  LockKey key() {
    return key;
  }

  /** What a thread finds that wants the lock. */
  sealed interface Entry {}

  /** It has it already, and has one handle more. */
  record Reentered(Handle handle) implements Entry {}

  /** Nobody of this client has it or asks: the thread is to ask the store. */
  record AskStore() implements Entry {}

  /** It stands in line. */
  record InLine(Waiter waiter, boolean behindItself) implements Entry {}

  /** A thread of this client has it or asks. */
  record Taken(@Nullable String holder) implements Entry {}

  /** The client was closed. */
  record Closed() implements Entry {}

  /**
   * A thread wants the lock.
   *
   * @throws IllegalStateException it owns the lock with other options
   * @throws LockLostException it owns a lease that was lost and is not closed
   */
  Entry enter(Thread thread, LockOptions options, boolean mayWait) {
    mutex.lock();
    try {
      if (clientClosed) {
        return new Closed();
      }
      Hold current = holder;
      if (current != null && current.owner == thread) {
        if (!current.tenure().options().equals(options)) {
          throw new IllegalStateException("This thread owns lock '"
              + key.name()
              + "' with other options ("
              + current.tenure().options()
              + ") than it asks for now ("
              + options
              + "): it would wait for itself. Close the outer lease first, or ask with equal"
              + " options");
        }
        return new Reentered(open(current));
      }
      for (Hold hold : lost) {
        if (hold.owner == thread && hold.loss != null) {
          throw exceptionOf(hold.loss);
        }
      }
      if (current == null && !talking && waiting.isEmpty()) {
        talking = true;
        unanswered = true;
        return new AskStore();
      }
      if (!mayWait) {
        return new Taken(holderDescription());
      }
      Waiter waiter = new Waiter(thread, options);
      waiting.add(waiter);
      return new InLine(waiter, current != null && current.acquirer() == thread);
    } finally {
      mutex.unlock();
    }
  }

  /** A waiter gives up; false: it has news to deal with. */
  boolean leave(Waiter waiter) {
    mutex.lock();
    try {
      boolean left = waiting.remove(waiter);
      if (left && waiter.overdue) {
        overdue--;
      }
      return left;
    } finally {
      mutex.unlock();
    }
  }

  /**
   * A waiter's time is over. It is told so at once, or else with the answer that the thread ahead
   * waits for: until then nobody can say that the lock is taken.
   */
  void timeIsUp(Waiter waiter) {
    mutex.lock();
    try {
      if (!unanswered) {
        if (waiting.remove(waiter)) {
          tell(waiter, new Waiter.TimeIsUp(holderDescription()));
        }
      } else if (!waiter.overdue && waiting.contains(waiter)) {
        waiter.overdue = true;
        overdue++;
      }
    } finally {
      unlockAndWake();
    }
  }

  /** The thread that asks the store sends a question. */
  void talkerAsks() {
    mutex.lock();
    try {
      unanswered = true;
    } finally {
      mutex.unlock();
    }
  }

  /**
   * The thread that asks the store was answered, and waits in the store's line.
   *
   * @param wake to wake it if the client closes meanwhile
   */
  void talkerWaits(Runnable wake) {
    mutex.lock();
    try {
      answered();
      wakeTalker = wake;
      if (clientClosed) {
        wake.run();
      }
    } finally {
      unlockAndWake();
    }
  }

  /**
   * The thread that asked the store got a grant.
   *
   * @return its handle; null: the client was closed meanwhile, and the grant is to be given back
   */
  @Nullable
  Handle granted(Tenure tenure, Thread thread) {
    mutex.lock();
    try {
      if (clientClosed) {
        return null;
      }
      // Whatever can fail comes before the first change.
      Hold hold = new Hold(tenure, 0, thread, tenure.grantedAtNanos());
      Handle handle = open(hold);
      holder = hold;
      stopTalking();
      return handle;
    } finally {
      unlockAndWake();
    }
  }

  /** The thread that talked to the store is done, and has no lease: the next may ask. */
  void doneTalking() {
    mutex.lock();
    try {
      stopTalking();
      passTurn();
    } finally {
      unlockAndWake();
    }
  }

  /**
   * The thread that asked the store did not wait for its answer to the end, for a reason of its
   * own: the next may ask. Those who have no time left to do so know as little as it does.
   */
  void brokeOff(StoreException failure) {
    mutex.lock();
    try {
      tellOverdue(new Waiter.StoreFailed(failure));
      stopTalking();
      passTurn();
    } finally {
      unlockAndWake();
    }
  }

  /**
   * The thread that asked the store got no usable answer. Those behind it asked through it, so they
   * are told the same: each of them finding out anew would take one store timeout after the other.
   */
  void storeFailed(StoreException failure) {
    mutex.lock();
    try {
      tellAll(new Waiter.StoreFailed(failure));
      stopTalking();
    } finally {
      unlockAndWake();
    }
  }

  /** What is left to do for a thread that closes a handle. */
  sealed interface Closing {}

  /** Nothing: it was closed before. */
  record ClosedBefore() implements Closing {}

  /** Nothing: an outer acquisition still holds the lock. */
  record StillHeld() implements Closing {}

  /** Nothing: the next in line has it, and with it the use of this line. */
  record HandedOn() implements Closing {}

  /** It is to be given back to the store; the caller talks to it, and then says so. */
  record GiveBack() implements Closing {}

  /** A guard is open: to be given back when it ends. */
  record Guarded() implements Closing {}

  /** It had been lost; {@code last}: no handle of it is left. */
  record WasLost(LeaseLoss loss, boolean last) implements Closing {}

  /**
   * A handle is closed.
   *
   * @param handOff whether the lease may be handed on locally; by its owner only, since nobody else
   *     knows whether the owner is still at work
   */
  Closing close(Handle handle, Thread thread, HandOff handOff, long nowNanos) {
    mutex.lock();
    try {
      if (handle.closed) {
        return new ClosedBefore();
      }
      Hold hold = handle.hold();
      handle.closed = true;
      hold.open.remove(handle);
      handle.leakReference = null;
      if (hold.loss != null) {
        handle.end = LeaseState.LOST;
        boolean last = hold.open.isEmpty();
        if (last) {
          lost.remove(hold);
        }
        return new WasLost(hold.loss, last);
      }
      if (!hold.open.isEmpty()) {
        handle.end = LeaseState.RELEASED;
        return new StillHeld();
      }
      if (hold.openGuards > 0) {
        hold.releaseWanted = true;
        // Nobody can re-enter what is as good as released.
        hold.owner = null;
        return new Guarded();
      }
      Waiter next = hold.owner == null || hold.owner == thread ? waiting.peek() : null;
      if (next != null && handOff.allows(hold, next.options(), nowNanos)) {
        Hold successor = new Hold(hold.tenure(), hold.handOffs() + 1, next.thread(), nowNanos);
        Handle successorHandle = open(successor);
        waiting.remove();
        handle.end = LeaseState.RELEASED;
        holder = successor;
        tell(next, new Waiter.HandedOn(successorHandle));
        return new HandedOn();
      }
      giveBack();
      return new GiveBack();
    } finally {
      unlockAndWake();
    }
  }

  /**
   * A loss, for those who are to be told of it.
   *
   * @param seen its acquirer has it; otherwise it was lost on the way from the one before
   * @param guarded a guard is open
   * @param unused nobody is left who would close it
   */
  record Loss(
      Hold hold,
      LeaseLoss loss,
      List<Consumer<? super LeaseLoss>> listeners,
      boolean seen,
      boolean guarded,
      boolean unused) {}

  /**
   * A tenure was lost.
   *
   * @return null: its release is under way, and the closing thread finds out
   */
  @Nullable
  Loss lost(Tenure tenure, LeaseLoss.Reason reason) {
    mutex.lock();
    try {
      Hold hold = holder;
      if (hold == null || hold.tenure() != tenure) {
        return null;
      }
      LeaseLoss loss = lossOf(hold, reason);
      hold.loss = loss;
      holder = null;
      List<Consumer<? super LeaseLoss>> listeners = new ArrayList<>();
      for (Handle handle : hold.open) {
        listeners.addAll(handle.lossListeners);
        handle.lossListeners.clear();
      }
      boolean unused = hold.open.isEmpty();
      if (!unused) {
        lost.add(hold);
      }
      passTurn();
      return new Loss(hold, loss, listeners, hold.seen, hold.openGuards > 0, unused);
    } finally {
      unlockAndWake();
    }
  }

  /** A waiter takes what it was handed; false: it was lost on the way. */
  boolean take(Handle handle) {
    mutex.lock();
    try {
      handle.hold().seen = true;
      return handle.hold().loss == null;
    } finally {
      mutex.unlock();
    }
  }

  /**
   * A listener for the loss of a handle's lease.
   *
   * @return the loss, if it happened already: the caller tells the listener
   */
  @Nullable
  LeaseLoss onLost(Handle handle, Consumer<? super LeaseLoss> listener) {
    mutex.lock();
    try {
      if (handle.closed) {
        return null;
      }
      if (handle.hold().loss == null) {
        handle.lossListeners.add(listener);
      }
      return handle.hold().loss;
    } finally {
      mutex.unlock();
    }
  }

  void detach(Handle handle, Thread thread) {
    mutex.lock();
    try {
      requireOpen(handle);
      Hold hold = handle.hold();
      if (hold.owner == null) {
        return;
      }
      if (hold.owner != thread) {
        throw new IllegalStateException(
            "Only the thread that owns the lease of lock '" + key.name() + "' can detach it");
      }
      if (hold.open.size() > 1) {
        throw new IllegalStateException(
            "The lease of lock '" + key.name() + "' has nested handles that are open: close them");
      }
      hold.owner = null;
      hold.detached = true;
    } finally {
      mutex.unlock();
    }
  }

  void openGuard(Handle handle) {
    mutex.lock();
    try {
      requireOpen(handle);
      Hold hold = handle.hold();
      if (hold.loss != null) {
        throw exceptionOf(hold.loss);
      }
      hold.everGuarded = true;
      hold.openGuards++;
    } finally {
      mutex.unlock();
    }
  }

  /** What is left to do when a guard ended. */
  enum GuardEnd {
    /** Nothing: the lease goes on, or other guards are open. */
    NOTHING,
    /** The lease is to be given back to the store; the caller talks to it, and then says so. */
    GIVE_BACK,
    /** The lease was lost meanwhile, and the store may still show it. */
    FREE_LOST
  }

  /** A guard ended. */
  GuardEnd closeGuard(Hold hold) {
    mutex.lock();
    try {
      hold.openGuards--;
      if (hold.openGuards > 0) {
        return GuardEnd.NOTHING;
      } else if (hold.loss != null) {
        return GuardEnd.FREE_LOST;
      } else if (!hold.releaseWanted) {
        return GuardEnd.NOTHING;
      }
      giveBack();
      return GuardEnd.GIVE_BACK;
    } finally {
      mutex.unlock();
    }
  }

  /** What became of a handle that was dropped. */
  enum Drop {
    /** Nothing: it was closed. */
    CLOSED_BEFORE,
    /** Other acquisitions hold on to its lease, or its loss is still to be noticed by them. */
    NESTED,
    /** It was the last of a lease that stands: nobody is left to release it. */
    LAST,
    /** It was the last of a lease that had been lost. */
    LAST_OF_LOST
  }

  /** A handle became unreachable without being closed. */
  Drop drop(Handle handle) {
    mutex.lock();
    try {
      if (handle.closed) {
        return Drop.CLOSED_BEFORE;
      }
      Hold hold = handle.hold();
      handle.closed = true;
      hold.open.remove(handle);
      if (!hold.open.isEmpty()) {
        return Drop.NESTED;
      }
      hold.owner = null;
      if (hold.loss == null) {
        return Drop.LAST;
      }
      lost.remove(hold);
      return Drop.LAST_OF_LOST;
    } finally {
      mutex.unlock();
    }
  }

  /** An acquisition through {@link ThreadOwnedLock}. */
  void rememberLocked(LeaseHandle lease) {
    mutex.lock();
    try {
      lease.handle().hold().locked.push(lease);
    } finally {
      mutex.unlock();
    }
  }

  /** The last acquisition of this thread through {@link ThreadOwnedLock}. */
  @Nullable
  LeaseHandle lastLocked(Thread thread) {
    mutex.lock();
    try {
      Hold hold = ownedBy(thread);
      return hold == null ? null : hold.locked.poll();
    } finally {
      mutex.unlock();
    }
  }

  /** The lease that this thread owns, lost or not. */
  @Nullable
  Hold ownedBy(Thread thread) {
    mutex.lock();
    try {
      if (holder != null && holder.owner == thread) {
        return holder;
      }
      for (Hold hold : lost) {
        if (hold.owner == thread) {
          return hold;
        }
      }
      return null;
    } finally {
      mutex.unlock();
    }
  }

  /** The lease that some thread of this client holds. */
  @Nullable
  Hold holder() {
    mutex.lock();
    try {
      return holder;
    } finally {
      mutex.unlock();
    }
  }

  boolean isGuarded() {
    mutex.lock();
    try {
      return holder != null && holder.openGuards > 0;
    } finally {
      mutex.unlock();
    }
  }

  /** The client closes: nobody comes in any more, and those who wait are told. */
  void closeClient() {
    mutex.lock();
    try {
      clientClosed = true;
      tellAll(new Waiter.ClientClosed());
      if (wakeTalker != null) {
        wakeTalker.run();
      }
    } finally {
      unlockAndWake();
    }
  }

  boolean isTalking() {
    mutex.lock();
    try {
      return talking;
    } finally {
      mutex.unlock();
    }
  }

  static LeaseLoss lossOf(Hold hold, LeaseLoss.Reason reason) {
    return new LossOf(hold.tenure().line().key().name(), hold.token(), reason);
  }

  static LockLostException exceptionOf(LeaseLoss loss) {
    return new LockLostException(loss.name(), loss.token(), loss.reason());
  }

  private static Handle open(Hold hold) {
    Handle handle = new Handle(hold);
    hold.open.add(handle);
    return handle;
  }

  private void requireOpen(Handle handle) {
    if (handle.closed) {
      throw new IllegalStateException("The lease of lock '" + key.name() + "' was closed");
    }
  }

  private void giveBack() {
    holder = null;
    talking = true;
  }

  private void stopTalking() {
    answered();
    talking = false;
    wakeTalker = null;
  }

  private void answered() {
    unanswered = false;
    if (overdue > 0) {
      tellOverdue(new Waiter.TimeIsUp(holderDescription()));
    }
  }

  private void passTurn() {
    if (holder == null && !talking) {
      Waiter next = waiting.poll();
      if (next != null) {
        talking = true;
        unanswered = true;
        tell(next, new Waiter.YourTurn());
      }
    }
  }

  private void tellAll(News news) {
    for (Waiter waiter = waiting.poll(); waiter != null; waiter = waiting.poll()) {
      tell(waiter, news);
    }
    overdue = 0;
  }

  private void tellOverdue(News news) {
    waiting.removeIf(waiter -> {
      if (waiter.overdue) {
        tell(waiter, news);
      }
      return waiter.overdue;
    });
    overdue = 0;
  }

  private void tell(Waiter waiter, News news) {
    waiter.tell(news);
    waiter.wakeNext = toWake;
    toWake = waiter;
  }

  /** A thread that is woken under the mutex would run into it. */
  private void unlockAndWake() {
    Waiter waiter = toWake;
    toWake = null;
    mutex.unlock();
    while (waiter != null) {
      Waiter next = waiter.wakeNext;
      LockSupport.unpark(waiter.thread());
      waiter = next;
    }
  }

  private @Nullable String holderDescription() {
    return holder == null ? null : holder.tenure().grant().claim().holder();
  }

  private record LossOf(String name, long token, LeaseLoss.Reason reason) implements LeaseLoss {}
}
