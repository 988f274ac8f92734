package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockListener.Source;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.Ownership;
import io.holdfast.lock.internal.event.HeldLease;
import io.holdfast.lock.internal.event.JfrEvents;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.grant.GrantState.Phase;
import io.holdfast.lock.internal.queue.Waiter.News;
import io.holdfast.lock.internal.task.Task;
import io.holdfast.lock.spi.Claim;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One owner's part of a grant, shared by the owner's nested acquisitions. A hand-off begins the
 * next hold of the same grant; readers that share a grant have a hold each. As a task, a hold
 * finishes its own release if the closing thread could not.
 *
 * <p>Threads: any. Mutable fields are guarded by the mutex of the {@link WaitQueue}, unless they
 * say otherwise; methods that are not public must be called under it.
 */
public final class Hold extends Task implements HeldLease {
  /*
   * Overview.
   *
   * A hold is one of its queue's open ones, or leads it, or is in its list of lost holds, or is
   * over:
   *
   *   open, with handles        -- the last handle is closed ------> leads, or over (handed on, or
   *                                                                  others share the grant)
   *   open, with handles        -- the same, under a guard --------> open, guarded
   *   open, with handles        -- the last handle is dropped -----> open, leaked, or over (shared)
   *   open, guarded             -- the last guard is closed -------> leads
   *   open                      -- its grant is found to be lost --> lost
   *   leads                     -- it is released, or was lost ----> over
   *   lost                      -- its handles are closed, and its
   *                                loss is told -------------------> over
   *
   * Guarded: under an open guard, without handles. What is lost under guards is freed at the store
   * when they end. Each transition is a method, which does what can fail before its first change.
   *
   * A loss is found by a compare-and-set in ActiveGrant, possibly by a thread that must not block
   * on the mutex. The next thread that comes to the queue books it, so that nobody acts on a holder
   * that has lost the lock. It leaves a LossNotice, from which listeners are told later.
   */

  private final WaitQueue queue;
  private final ActiveGrant grant;
  final int handOffs;
  private final long token;
  private final Thread acquirer;
  private final long sinceNanos;
  private final JfrEvents.Held jfrEvent = new JfrEvents.Held();

  /** The thread that may re-enter; null if none may. */
  private @Nullable Thread owner;

  /** See {@link #isSeen()}; also read without the mutex. */
  private volatile boolean seen;

  /**
   * Whether it may be handed on locally. Not if it was detached, since it may then end on any
   * thread; nor if a guard was ever opened on it, since the store could not tell the successor from
   * it, and a late write under that guard would pass.
   */
  private boolean canPassOn = true;

  private int openGuards;

  /**
   * The waiter that it was handed on to, until it is woken. Not guarded by the mutex: set under it,
   * cleared by the thread that wakes the waiter.
   */
  private volatile @Nullable Waiter handedOnTo;

  /** Whether its last handle was dropped without being closed: it then ends with its TTL. */
  private boolean leaked;

  /** The loss, if it was lost. */
  private @Nullable LeaseLoss loss;

  /** The notice of its loss, until it is told. */
  private @Nullable LossNotice untold;

  /** The acquisitions that are not closed yet, the latest last. */
  private final List<Handle> openHandles = new ArrayList<>(1);

  /** The thread that is releasing it. */
  private final AtomicReference<@Nullable Thread> releasing = new AtomicReference<>();

  /** See {@link #lastListeners()}; also read without the mutex, by the releasing thread. */
  private List<Consumer<? super LeaseLoss>> lastListeners = List.of();

  Hold(WaitQueue queue, ActiveGrant grant, int handOffs, Thread acquirer, long sinceNanos) {
    this.queue = queue;
    this.grant = grant;
    this.handOffs = handOffs;
    this.token = Token.of(grant.grant().number(), handOffs);
    this.acquirer = acquirer;
    this.sinceNanos = sinceNanos;
    this.owner = grant.options().ownership() == Ownership.THREAD ? acquirer : null;
    jfrEvent.begin();
  }

  /** Returns the queue that it is in. */
  public WaitQueue queue() {
    return queue;
  }

  /** Returns the grant that it is part of. */
  public ActiveGrant grant() {
    return grant;
  }

  /** Returns the thread that acquired it. */
  public Thread acquirer() {
    return acquirer;
  }

  @Override
  public Claim claim() {
    return grant.grant().claim();
  }

  @Override
  public long token() {
    return token;
  }

  @Override
  public long sinceNanos() {
    return sinceNanos;
  }

  @Override
  public JfrEvents.Held jfrEvent() {
    return jfrEvent;
  }

  /** Makes the exception for a lease of it that is no longer valid. */
  public LockLostException lostException() {
    return grant.lostException(token);
  }

  /** Whether its acquirer has received it; until then, listeners hear of no end of it. */
  public boolean isSeen() {
    return seen;
  }

  // Acquiring

  /** Opens the first handle of it. */
  Handle open(Claim.Mode mode) {
    Handle handle = new Handle(this, mode);
    openHandles.add(handle);
    return handle;
  }

  /** Opens a handle for a waiter that owns it. */
  News reenter(Waiter waiter) {
    Handle handle = new Handle(this, waiter.mode);
    News news = new Waiter.Acquired(handle, Source.REENTRANT);
    openHandles.add(handle);
    waiter.news = news;
    return news;
  }

  /** Marks it as received by its acquirer; false, and not marked, if it was lost before. */
  public boolean receive() {
    synchronized (queue) {
      queue.bookIfLost();
      if (loss == null) {
        seen = true;
      }
      return seen;
    }
  }

  // Holding

  /** Detaches it from its owner thread, if it has one. */
  public void detach(Handle handle, Thread thread) {
    synchronized (queue) {
      requireDetachable(handle, thread);
      if (owner != null) {
        owner = null;
        canPassOn = false;
      }
    }
  }

  /** Checks that this thread can detach it now, or throws an {@link IllegalStateException}. */
  public void requireDetachable(Handle handle, Thread thread) {
    synchronized (queue) {
      requireOpen(handle);
      if (owner == null) {
        return;
      }
      if (owner != thread) {
        throw new IllegalStateException(
            "Only the thread that owns the lease of lock '" + lockName() + "' can detach it");
      }
      if (openHandles.size() > 1) {
        throw new IllegalStateException(
            "The lease of lock '" + lockName() + "' has nested handles that are open: close them");
      }
    }
  }

  /** Opens a guard; {@link #closeGuard} must follow. */
  public void openGuard(Handle handle) {
    synchronized (queue) {
      queue.bookIfLost();
      requireOpen(handle);
      if (loss != null) {
        throw lostException();
      }
      canPassOn = false;
      openGuards++;
    }
  }

  private void requireOpen(Handle handle) {
    if (handle.isClosed()) {
      throw new IllegalStateException("The lease of lock '" + lockName() + "' was closed");
    }
  }

  /** Notes that this is an acquisition through {@code asLock()}. */
  public void markThreadOwned(Handle handle) {
    synchronized (queue) {
      handle.threadOwned = true;
    }
  }

  /** Whether an acquisition through {@code asLock()} is open. Allocates nothing. */
  public boolean hasThreadOwned() {
    synchronized (queue) {
      return lastThreadOwned(Claim.EXCLUSIVE) != null || lastThreadOwned(Claim.SHARED) != null;
    }
  }

  /** Returns the latest open acquisition in this mode through {@code asLock()}. */
  @Nullable
  Handle lastThreadOwned(Claim.Mode mode) {
    // By index, since an iterator would be allocated, and the heap may be full.
    for (int index = openHandles.size() - 1; index >= 0; index--) {
      Handle handle = openHandles.get(index);
      if (handle.threadOwned && handle.mode.equals(mode)) {
        return handle;
      }
    }
    return null;
  }

  boolean isOwnedBy(Thread thread) {
    return owner == thread;
  }

  boolean isOpen() {
    return !openHandles.isEmpty();
  }

  /** Whether a guard is open on it. */
  public boolean isGuarded() {
    synchronized (queue) {
      return openGuards > 0;
    }
  }

  // Closing

  /**
   * Closes one of its handles.
   *
   * @param handOff whether the lease may be handed on locally. If it has an owner thread, only that
   *     thread hands it on: no other knows whether the owner is still at work
   */
  public Closing close(Handle handle, Thread thread, HandOff handOff, long nowNanos) {
    Closing closing;
    synchronized (queue) {
      closing = closeHere(handle, thread, handOff, nowNanos);
    }
    wakeSuccessor();
    return closing;
  }

  /** Wakes the thread that it was handed on to, unless that was done. */
  public void wakeSuccessor() {
    Waiter next = handedOnTo;
    if (next != null) {
      // Without the mutex, since the thread that wakes up needs it at once.
      next.wake();
      handedOnTo = null;
    }
  }

  private Closing closeHere(Handle handle, Thread thread, HandOff handOff, long nowNanos) {
    queue.bookIfLost();
    if (handle.isClosed()) {
      return Closing.CLOSED_BEFORE;
    }
    if (loss != null) {
      remove(handle, LeaseState.LOST);
      return unlistIfOver() ? Closing.LOST_AND_OVER : Closing.LOST;
    }
    if (openHandles.size() > 1) {
      remove(handle, LeaseState.RELEASED);
      return Closing.STILL_HELD;
    }
    if (openGuards > 0) {
      remove(handle, null);
      // It is as good as released, so its thread can't re-enter.
      owner = null;
      return Closing.GUARDED;
    }
    if (queue.isShared()) {
      remove(handle, LeaseState.RELEASED);
      queue.leave(this);
      return Closing.LEFT;
    }
    Waiter next = owner == null || owner == thread ? queue.firstWaiter() : null;
    boolean canGoOn = canPassOn && handOffs < Token.HAND_OFFS_MAX;
    if (next != null && canGoOn && handOff.allows(grant, next.options, nowNanos)) {
      Hold successor = new Hold(queue, grant, handOffs + 1, next.thread, nowNanos);
      News news = new Waiter.Acquired(successor.open(next.mode), Source.LOCAL_HAND_OFF);
      remove(handle, LeaseState.RELEASED);
      queue.handOn(next, news, successor);
      handedOnTo = next;
      return Closing.HANDED_ON;
    }
    // Under the mutex, so that no cleaner makes the release: the caller returns when it is made.
    boolean unused = reserveRelease();
    remove(handle, null);
    queue.beginRelease(this);
    return Closing.TO_BE_RELEASED;
  }

  /**
   * Closes a guard. If it was the last one and the hold was closed under it, begins the release.
   *
   * @return {@link Closing#TO_BE_RELEASED}, not reserved for anybody: the release has begun;
   *     {@link Closing#LOST}: it was the last guard, and the lease had been lost;
   *     {@link Closing#STILL_HELD}: neither
   */
  public Closing closeGuard() {
    synchronized (queue) {
      queue.bookIfLost();
      openGuards--;
      if (loss != null && openGuards == 0) {
        return Closing.LOST;
      } else if (loss != null || !isAbandoned()) {
        return Closing.STILL_HELD;
      }
      queue.beginRelease(this);
      return Closing.TO_BE_RELEASED;
    }
  }

  /** Whether nobody has it, and it was not released. */
  boolean isAbandoned() {
    return openHandles.isEmpty() && openGuards == 0 && !leaked;
  }

  /** Closes one of its handles that its user dropped; null if there is none. */
  Handle.@Nullable Dropped takeDropped() {
    for (Handle handle : openHandles) {
      if (handle.isDropped()) {
        boolean last = openHandles.size() == 1;
        boolean leaves = last && queue.isShared();
        boolean isOver = leaves || (last && loss != null && untold == null);
        Handle.Dropped dropped = new Handle.Dropped(this, last && !leaves, isOver);
        leaked = last;
        owner = last ? null : owner;
        remove(handle, null);
        if (leaves) {
          queue.leave(this);
        }
        boolean unused = isOver && unlistIfOver();
        return dropped;
      }
    }
    return null;
  }

  /**
   * Removes a handle and closes it; {@code end} is its final state, or null if it shows the state
   * of its grant.
   */
  private void remove(Handle handle, @Nullable LeaseState end) {
    if (openHandles.size() == 1) {
      lastListeners = handle.lossListeners();
    }
    openHandles.remove(handle);
    handle.close(end);
  }

  /**
   * Returns the loss listeners of the handle that was closed last: the grant can turn out to be
   * lost when it is released, or until then under an open guard.
   */
  public List<Consumer<? super LeaseLoss>> lastListeners() {
    return lastListeners;
  }

  // Releasing

  /**
   * Reserves the release for the calling thread; false if another thread has it. If true,
   * {@link #unreserveRelease} must follow.
   */
  public boolean reserveRelease() {
    return releasing.compareAndSet(null, Thread.currentThread());
  }

  /** Ends the calling thread's reservation, if it has it, whether the release succeeded or not. */
  public void unreserveRelease() {
    boolean unused = releasing.compareAndSet(Thread.currentThread(), null);
  }

  /** Releases it: {@code Settlement.release}. */
  @Override
  protected void work() {
    queue.releaser.accept(this);
  }

  // Losing

  /**
   * Adds a listener for its loss.
   *
   * @return the loss if it has happened already: the caller must then tell the listener
   */
  public @Nullable LeaseLoss onLost(
      Handle handle, LossListeners lease, Consumer<? super LeaseLoss> listener) {
    synchronized (queue) {
      queue.bookIfLost();
      if (handle.isClosed()) {
        return null;
      }
      if (loss == null) {
        lease.addLossListener(listener);
      }
      return loss;
    }
  }

  /** Books the loss of its grant, if it was lost: it is then no longer open. Returns whether. */
  boolean bookIfLost() {
    if (grant.state().phase() != Phase.LOST) {
      return false;
    }
    Deque<Consumer<? super LeaseLoss>> listeners =
        new ArrayDeque<>(openHandles.isEmpty() ? lastListeners : List.of());
    openHandles.forEach(handle -> listeners.addAll(handle.lossListeners()));
    LossNotice notice =
        new LossNotice(LossNotice.lossOf(this, grant.state()), listeners, openGuards > 0);
    queue.listLost(this); // The last call that can fail, and then it has changed nothing.
    loss = notice.loss();
    untold = notice;
    queue.passTurn();
    return true;
  }

  /** Returns the notice of its loss until it is told. */
  public @Nullable LossNotice untold() {
    synchronized (queue) {
      return untold;
    }
  }

  /**
   * Notes that its loss was told. Returns whether it is over: the caller must call
   * {@link WaitQueues#endUse}.
   */
  public boolean told() {
    synchronized (queue) {
      if (untold == null) {
        return false;
      }
      untold = null;
      return unlistIfOver();
    }
  }

  /** Takes it off the list of lost holds once its handles are closed and its loss is told. */
  private boolean unlistIfOver() {
    return openHandles.isEmpty() && untold == null && queue.unlistLost(this);
  }
}
