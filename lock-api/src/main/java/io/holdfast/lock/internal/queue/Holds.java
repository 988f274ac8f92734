package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.grant.GrantState.Phase;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The current hold of a name within one client, and the lost holds that are still open or whose
 * loss is still to be told.
 *
 * <p>Threads: any. Everything is guarded by the mutex of the {@link WaitQueue}; methods that are
 * not public must be called under it.
 */
public final class Holds {
  private final WaitQueue queue;

  /** The current hold of the name. That it was lost may not have been booked yet. */
  @Nullable
  Hold current;

  /** The lost holds that are still open, or whose loss is still to be told. */
  private final List<Hold> lost = new ArrayList<>(0);

  Holds(WaitQueue queue) {
    this.queue = queue;
  }

  /**
   * Returns the current hold, or null if it is marked as lost. Reads no clock: its deadline may
   * have passed.
   */
  @Nullable
  Hold currentUnlessLost() {
    bookIfLost();
    return current;
  }

  /** Marks a lease as received by its acquirer; false, and not marked, if it was lost before. */
  public boolean receive(Hold hold) {
    synchronized (queue) {
      bookIfLost();
      if (hold.loss == null) {
        hold.seen = true;
      }
      return hold.seen;
    }
  }

  // Losing

  /**
   * Returns the loss of this grant if it must still be told; {@link #told} must follow. Null if the
   * grant is not lost, if its loss was told, or if the closing thread tells it.
   */
  public @Nullable LossNotice notice(ActiveGrant grant) {
    synchronized (queue) {
      bookIfLost();
      Hold hold = holdOf(grant);
      return hold == null ? null : hold.untold;
    }
  }

  /**
   * Notes that a loss was told. Returns whether the hold is over: the caller must call
   * {@link WaitQueues#endUse}.
   */
  public boolean told(Hold hold) {
    synchronized (queue) {
      if (hold.untold == null) {
        return false;
      }
      hold.untold = null;
      return unlistIfOver(hold);
    }
  }

  /**
   * Adds a listener for the loss of a lease.
   *
   * @return the loss if it has happened already: the caller must then tell the listener
   */
  public @Nullable LeaseLoss onLost(
      Handle handle, LossListeners lease, Consumer<? super LeaseLoss> listener) {
    synchronized (queue) {
      bookIfLost();
      if (handle.isClosed()) {
        return null;
      }
      if (handle.hold().loss == null) {
        lease.addLossListener(listener);
      }
      return handle.hold().loss;
    }
  }

  /**
   * A handle that its user dropped, and that is closed now.
   *
   * @param hold the handle's hold
   * @param last whether this was the hold's last handle
   * @param isOver whether the hold is over: the caller must call {@link WaitQueues#endUse}
   */
  public record Dropped(Hold hold, boolean last, boolean isOver) {}

  /** Closes one of this grant's handles that its user dropped; null if there is none. */
  public @Nullable Dropped takeDropped(ActiveGrant grant) {
    synchronized (queue) {
      bookIfLost();
      Hold hold = holdOf(grant);
      if (hold == null) {
        return null;
      }
      for (Handle handle : hold.openHandles) {
        if (handle.isDropped()) {
          boolean lastHandle = hold.openHandles.size() == 1;
          boolean isOver = lastHandle && hold.loss != null && hold.untold == null;
          Dropped dropped = new Dropped(hold, lastHandle, isOver);
          hold.leaked = lastHandle;
          hold.remove(handle, null);
          if (lastHandle) {
            hold.owner = null;
          }
          if (isOver) {
            boolean unused = unlistIfOver(hold);
          }
          return dropped;
        }
      }
      return null;
    }
  }

  // Holding

  /** Detaches a lease from its owner thread, if it has one. */
  public void detach(Handle handle, Thread thread) {
    synchronized (queue) {
      requireDetachable(handle, thread);
      Hold hold = handle.hold();
      if (hold.owner != null) {
        hold.owner = null;
        hold.detached = true;
      }
    }
  }

  /**
   * Checks that a lease can be detached.
   *
   * @throws IllegalStateException it can't be, by this thread and now
   */
  public void requireDetachable(Handle handle, Thread thread) {
    synchronized (queue) {
      requireOpen(handle);
      Hold hold = handle.hold();
      if (hold.owner == null) {
        return;
      }
      if (hold.owner != thread) {
        throw new IllegalStateException("Only the thread that owns the lease of lock '"
            + queue.key().name() + "' can detach it");
      }
      if (hold.openHandles.size() > 1) {
        throw new IllegalStateException("The lease of lock '" + queue.key().name()
            + "' has nested handles that are open: close them");
      }
    }
  }

  /** Opens a guard; {@link #closeGuard} must follow. */
  public void openGuard(Handle handle) {
    synchronized (queue) {
      bookIfLost();
      requireOpen(handle);
      Hold hold = handle.hold();
      if (hold.loss != null) {
        throw hold.lostException();
      }
      hold.everGuarded = true;
      hold.openGuards++;
    }
  }

  /**
   * Closes a guard. If it was the last one and the hold was closed under it, begins the release.
   *
   * @return whether the store must now be told, since this was the last guard, and the hold was
   *     closed or lost under it
   */
  public boolean closeGuard(Hold hold) {
    synchronized (queue) {
      bookIfLost();
      hold.openGuards--;
      if (hold.loss != null) {
        return hold.openGuards == 0;
      } else if (!hold.isAbandoned()) {
        return false;
      }
      queue.beginRelease(hold);
      return true;
    }
  }

  /** Notes that this is an acquisition through {@code asLock()}. */
  public void markThreadOwned(Handle handle) {
    synchronized (queue) {
      handle.threadOwned = true;
    }
  }

  /** Returns this thread's latest open acquisition through {@code asLock()}. */
  public @Nullable Handle lastThreadOwned(Thread thread) {
    synchronized (queue) {
      Hold hold = ownedBy(thread);
      return hold == null ? null : hold.lastThreadOwned();
    }
  }

  /** Whether an acquisition through {@code asLock()} is open in this hold. */
  public boolean hasThreadOwned(Hold hold) {
    synchronized (queue) {
      return hold.lastThreadOwned() != null;
    }
  }

  /** Returns the hold that this thread owns, lost or not. */
  public @Nullable Hold ownedBy(Thread thread) {
    synchronized (queue) {
      if (current != null && current.owner == thread) {
        return current;
      }
      // By index, since an iterator would be allocated, and the heap may be full.
      for (int index = 0; index < lost.size(); index++) {
        Hold hold = lost.get(index);
        if (hold.owner == thread && !hold.openHandles.isEmpty()) {
          return hold;
        }
      }
      return null;
    }
  }

  /** Returns the current hold. That it was lost may not have been booked yet. */
  public @Nullable Hold current() {
    synchronized (queue) {
      return current;
    }
  }

  /** Whether a guard is open on the current hold. */
  public boolean isGuarded() {
    synchronized (queue) {
      return current != null && current.openGuards > 0;
    }
  }

  // Under the mutex

  private void requireOpen(Handle handle) {
    if (handle.isClosed()) {
      throw new IllegalStateException("The lease of lock '" + queue.key().name() + "' was closed");
    }
  }

  /** Moves the current hold to the list of lost holds if its grant was lost. */
  void bookIfLost() {
    Hold hold = current;
    if (hold != null && hold.grant().state().phase() == Phase.LOST) {
      book(hold);
    }
  }

  private void book(Hold hold) {
    LeaseLoss loss = lossOf(hold, Objects.requireNonNull(hold.grant().state().lostBy()));
    Deque<Consumer<? super LeaseLoss>> listeners = new ArrayDeque<>();
    for (Handle handle : hold.openHandles) {
      listeners.addAll(handle.lossListeners());
    }
    LossNotice notice = new LossNotice(hold, loss, listeners, hold.openGuards > 0);
    lost.add(hold); // The last call that can fail.
    hold.loss = loss;
    hold.untold = notice;
    current = null;
    queue.passTurn();
  }

  /** Makes the loss of a hold, as listeners see it. */
  public static LeaseLoss lossOf(Hold hold, LeaseLoss.Reason reason) {
    return new Loss(hold.lockName(), hold.token(), reason);
  }

  private record Loss(String name, long token, LeaseLoss.Reason reason) implements LeaseLoss {}

  /** Takes a lost hold off the list once its handles are closed and its loss is told. */
  boolean unlistIfOver(Hold hold) {
    return hold.openHandles.isEmpty() && hold.untold == null && lost.remove(hold);
  }

  private @Nullable Hold holdOf(ActiveGrant grant) {
    if (current != null && current.grant() == grant) {
      return current;
    }
    for (int index = 0; index < lost.size(); index++) {
      if (lost.get(index).grant() == grant) {
        return lost.get(index);
      }
    }
    return null;
  }
}
