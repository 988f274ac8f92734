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
   * @param nowNanos when, for the handle if it re-enters
   * @throws IllegalStateException it owns the lock with other options
   * @throws LockLostException it owns a lease that was lost and is not closed
   */
  Entry enter(Thread thread, LockOptions options, boolean mayWait, long nowNanos) {
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
        return new Reentered(open(current, nowNanos));
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

  /**
   * What a waiter finds that gives up.
   *
   * @param left it has left the line; otherwise it was told something before, or has to wait on
   * @param holder who of this client has the lock
   */
  record Leaving(boolean left, @Nullable String holder) {}

  /** A waiter gives up. If it has not left then, it has news to deal with. */
  Leaving leave(Waiter waiter) {
    mutex.lock();
    try {
      return new Leaving(waiting.remove(waiter), holderDescription());
    } finally {
      mutex.unlock();
    }
  }

  /**
   * As {@link #leave}, unless the thread that asks the store has no answer yet: then the waiter has
   * to stay, and is woken by the answer.
   */
  Leaving leaveIfAnswered(Waiter waiter) {
    mutex.lock();
    try {
      if (unanswered) {
        waiter.overdue = true;
        return new Leaving(false, null);
      }
      return leave(waiter);
    } finally {
      mutex.unlock();
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
      mutex.unlock();
    }
  }

  /**
   * The thread that asked the store got a grant.
   *
   * @return its handle; null: the client was closed meanwhile, and the grant is to be given back
   */
  @Nullable
  Handle granted(Tenure tenure, Thread thread, long nowNanos) {
    mutex.lock();
    try {
      if (clientClosed) {
        return null;
      }
      stopTalking();
      Hold hold = new Hold(tenure, 0, thread);
      holder = hold;
      return open(hold, nowNanos);
    } finally {
      mutex.unlock();
    }
  }

  /** The thread that talked to the store is done, and has no lease: the next may ask. */
  void doneTalking() {
    mutex.lock();
    try {
      stopTalking();
      passTurn();
    } finally {
      mutex.unlock();
    }
  }

  /**
   * The thread that asked the store got no usable answer. Those behind it asked through it, so they
   * are told the same: each of them finding out anew would take one store timeout after the other.
   */
  void storeFailed(StoreException failure) {
    mutex.lock();
    try {
      stopTalking();
      tellAll(new Waiter.StoreFailed(failure));
    } finally {
      mutex.unlock();
    }
  }

  /** What is left to do for a thread that closes a handle. */
  sealed interface Closing {}

  /** Nothing: it was closed before. */
  record ClosedBefore() implements Closing {}

  /** Nothing: an outer acquisition still holds the lock. */
  record StillHeld() implements Closing {}

  /** Nothing: the next in line has it. */
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
   * @param handOff whether the lease may be handed on locally, seen from outside
   */
  Closing close(Handle handle, HandOff handOff, long nowNanos) {
    mutex.lock();
    try {
      if (handle.closed) {
        return new ClosedBefore();
      }
      Hold hold = handle.hold();
      handle.closed = true;
      hold.open.remove(handle);
      LeakReference leakReference = handle.leakReference;
      if (leakReference != null) {
        leakReference.clear();
      }
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
        return new Guarded();
      }
      Waiter next = waiting.peek();
      if (next != null && handOff.allows(hold, next.options(), nowNanos)) {
        waiting.remove();
        handle.end = LeaseState.RELEASED;
        Hold successor = new Hold(hold.tenure(), hold.handOffs() + 1, next.thread());
        holder = successor;
        next.tell(new Waiter.HandedOn(open(successor, nowNanos)));
        return new HandedOn();
      }
      giveBack();
      return new GiveBack();
    } finally {
      mutex.unlock();
    }
  }

  /**
   * A loss, for those who are to be told of it.
   *
   * @param guarded a guard is open
   * @param unused nobody is left who would close it
   */
  record Loss(
      Hold hold,
      LeaseLoss loss,
      List<Consumer<? super LeaseLoss>> listeners,
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
      return new Loss(hold, loss, listeners, hold.openGuards > 0, unused);
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

  /**
   * A guard ended.
   *
   * @return whether the lease is to be given back now: the caller talks to the store
   */
  boolean closeGuard(Hold hold) {
    mutex.lock();
    try {
      hold.openGuards--;
      if (hold.openGuards > 0 || !hold.releaseWanted || hold.loss != null) {
        return false;
      }
      giveBack();
      return true;
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
      mutex.unlock();
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

  private Handle open(Hold hold, long nowNanos) {
    Handle handle = new Handle(hold, nowNanos);
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
    for (Waiter waiter : waiting) {
      if (waiter.overdue) {
        LockSupport.unpark(waiter.thread());
      }
    }
  }

  private void passTurn() {
    if (holder == null && !talking) {
      Waiter next = waiting.poll();
      if (next != null) {
        talking = true;
        unanswered = true;
        next.tell(new Waiter.YourTurn());
      }
    }
  }

  private void tellAll(News news) {
    for (Waiter waiter = waiting.poll(); waiter != null; waiter = waiting.poll()) {
      waiter.tell(news);
    }
  }

  private @Nullable String holderDescription() {
    return holder == null ? null : holder.tenure().grant().claim().holder();
  }

  private record LossOf(String name, long token, LeaseLoss.Reason reason) implements LeaseLoss {}
}
