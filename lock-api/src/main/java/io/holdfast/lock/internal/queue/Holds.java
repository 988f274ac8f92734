package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.grant.GrantState.Phase;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The current hold of a name within one client, or those of its readers, and the lost holds that
 * are not closed, or whose loss is not told, yet.
 *
 * <p>Threads: any. Everything is guarded by the mutex of the {@link WaitQueue}; methods that are
 * not public must be called under it.
 */
public final class Holds {
  private final WaitQueue queue;
  private final CurrentHolds current;

  /** The first of the lost holds. */
  private @Nullable Hold firstLost;

  Holds(WaitQueue queue, CurrentHolds current) {
    this.queue = queue;
    this.current = current;
  }

  /** Returns the holder of a mutex, after booking any loss that is known. */
  @Nullable
  Hold exclusive() {
    bookIfLost();
    return current.isExclusive() ? current.first() : null;
  }

  /** Returns the current hold that this thread owns, after booking any loss that is known. */
  @Nullable
  Hold currentOwnedBy(Thread thread) {
    bookIfLost();
    return current.ownedBy(thread);
  }

  /** Whether somebody other than the owner of this hold has a lease of its grant. */
  public boolean isGrantKept(Hold hold) {
    try {
      synchronized (queue.mutex) {
        return current.isKeptByOthers(hold);
      }
    } finally {
      queue.wakeTold();
    }
  }

  /** @throws LockLostException this thread owns a lease that was lost and is not closed */
  void requireNoneLost(Thread thread) {
    for (Hold lost = firstLost; lost != null; lost = lost.nextLost) {
      if (lost.isOwnedBy(thread) && !lost.open.isEmpty()) {
        throw lost.lostException();
      }
    }
  }

  /** Takes the lease that a waiter was handed; false if it was lost on the way. */
  public boolean take(Handle handle) {
    try {
      synchronized (queue.mutex) {
        bookIfLost();
        handle.hold().seen = handle.hold().loss == null;
        return handle.hold().seen;
      }
    } finally {
      queue.wakeTold();
    }
  }

  // Losing

  /**
   * Returns a loss of this grant that must still be told; {@link #told} must follow. Null if all
   * were told, or if the closing thread tells it.
   */
  public @Nullable LossNotice notice(ActiveGrant grant) {
    try {
      synchronized (queue.mutex) {
        bookIfLost();
        Hold lost = firstLost;
        while (lost != null && (lost.grant() != grant || lost.untold == null)) {
          lost = lost.nextLost;
        }
        return lost == null ? null : lost.untold;
      }
    } finally {
      queue.wakeTold();
    }
  }

  /**
   * Notes that a loss was told. Returns whether nothing is left of the hold, so that the queue must
   * be left.
   */
  public boolean told(Hold hold) {
    try {
      synchronized (queue.mutex) {
        if (hold.untold == null) {
          return false;
        }
        hold.untold = null;
        return unlistIfOver(hold);
      }
    } finally {
      queue.wakeTold();
    }
  }

  /**
   * Adds a listener for the loss of a lease.
   *
   * @return the loss if it has happened already: the caller must then tell the listener
   */
  public @Nullable LeaseLoss onLost(
      Handle handle, LossListeners lease, Consumer<? super LeaseLoss> listener) {
    try {
      synchronized (queue.mutex) {
        bookIfLost();
        if (handle.isClosed()) {
          return null;
        }
        if (handle.hold().loss == null) {
          lease.addLossListener(listener);
        }
        return handle.hold().loss;
      }
    } finally {
      queue.wakeTold();
    }
  }

  /** Closes one of this grant's handles that its user dropped; null if there is none. */
  public @Nullable Dropped takeDropped(ActiveGrant grant) {
    try {
      synchronized (queue.mutex) {
        bookIfLost();
        for (Hold hold = current.first(); hold != null; hold = hold.nextCurrent) {
          Dropped dropped = hold.grant() == grant ? takeDropped(hold) : null;
          if (dropped != null) {
            return dropped;
          }
        }
        for (Hold hold = firstLost; hold != null; hold = hold.nextLost) {
          Dropped dropped = hold.grant() == grant ? takeDropped(hold) : null;
          if (dropped != null) {
            return dropped;
          }
        }
        return null;
      }
    } finally {
      queue.wakeTold();
    }
  }

  private @Nullable Dropped takeDropped(Hold hold) {
    hold.dropIfAcquirerDead();
    for (Handle handle : hold.open) {
      if (handle.isDropped()) {
        boolean lastHandle = hold.open.size() == 1;
        boolean leaves = lastHandle && hold.loss != null && hold.untold == null;
        boolean last = lastHandle && (hold.loss != null || !current.isKeptByOthers(hold));
        Dropped dropped = new Dropped(hold, last, leaves);
        hold.leaked = true;
        hold.remove(handle, null);
        if (lastHandle) {
          hold.owned = false;
        }
        if (last) {
          queue.closeToOthers(hold.grant());
        }
        if (leaves) {
          boolean unused = unlistIfOver(hold);
        }
        return dropped;
      }
    }
    return null;
  }

  // Holding

  /** Detaches a lease from its owner thread. */
  public void detach(Handle handle, Thread thread) {
    try {
      synchronized (queue.mutex) {
        checkDetachable(handle, thread);
        Hold hold = handle.hold();
        if (hold.owned) {
          hold.owned = false;
          hold.detached = true;
        }
      }
    } finally {
      queue.wakeTold();
    }
  }

  /**
   * Checks that a lease can be detached.
   *
   * @throws IllegalStateException it can't be, by this thread and now
   */
  public void requireDetachable(Handle handle, Thread thread) {
    try {
      synchronized (queue.mutex) {
        checkDetachable(handle, thread);
      }
    } finally {
      queue.wakeTold();
    }
  }

  /** Opens a guard; {@link #closeGuard} must follow. */
  public void openGuard(Handle handle) {
    try {
      synchronized (queue.mutex) {
        bookIfLost();
        requireOpen(handle);
        Hold hold = handle.hold();
        if (hold.loss != null) {
          throw hold.lostException();
        }
        hold.everGuarded = true;
        hold.openGuards++;
      }
    } finally {
      queue.wakeTold();
    }
  }

  /** The result of closing a guard. */
  public enum GuardEnd {
    /** Nothing is left to do: the lease goes on, or other guards are open. */
    NOTHING,
    /** The hold leads, and must be released at the store. */
    TO_BE_RELEASED,
    /** The lease was lost meanwhile, and the store may still show it. */
    LOST
  }

  /** Closes a guard. */
  public GuardEnd closeGuard(Hold hold) {
    try {
      synchronized (queue.mutex) {
        bookIfLost();
        hold.openGuards--;
        if (hold.openGuards > 0) {
          return GuardEnd.NOTHING;
        } else if (hold.loss != null) {
          return isGuarded(hold.grant()) ? GuardEnd.NOTHING : GuardEnd.LOST;
        } else if (!hold.releaseWanted) {
          return GuardEnd.NOTHING;
        }
        queue.beginRelease(hold);
        return GuardEnd.TO_BE_RELEASED;
      }
    } finally {
      queue.wakeTold();
    }
  }

  /** Adds an acquisition through {@code asLock()}, whose handle only the hold keeps. */
  public void addThreadOwned(Handle handle) {
    try {
      synchronized (queue.mutex) {
        handle.hold().pushThreadOwned(handle);
      }
    } finally {
      queue.wakeTold();
    }
  }

  /**
   * Returns this thread's latest open acquisition through {@code asLock()}.
   *
   * @param reads whether as a read lock
   */
  public @Nullable Handle lastThreadOwned(Thread thread, boolean reads) {
    try {
      synchronized (queue.mutex) {
        Hold hold = holdOwnedBy(thread);
        return hold == null ? null : hold.lastThreadOwned(reads);
      }
    } finally {
      queue.wakeTold();
    }
  }

  /** Whether an acquisition through {@code asLock()} is open in this hold. */
  public boolean hasThreadOwned(Hold hold) {
    try {
      synchronized (queue.mutex) {
        return hold.lastThreadOwned() != null;
      }
    } finally {
      queue.wakeTold();
    }
  }

  /** Returns the hold that this thread owns, lost or not. */
  public @Nullable Hold ownedBy(Thread thread) {
    try {
      synchronized (queue.mutex) {
        return holdOwnedBy(thread);
      }
    } finally {
      queue.wakeTold();
    }
  }

  /** Returns the current hold that this thread owns, if a read lock is open in it. */
  public @Nullable Hold readBy(Thread thread) {
    try {
      synchronized (queue.mutex) {
        Hold hold = currentOwnedBy(thread);
        return hold != null && hold.open.stream().anyMatch(Handle::reads) ? hold : null;
      }
    } finally {
      queue.wakeTold();
    }
  }

  /** Returns a current hold whose grant is not over; null if there is none. */
  public @Nullable Hold anyCurrent() {
    try {
      synchronized (queue.mutex) {
        bookIfLost();
        return current.any();
      }
    } finally {
      queue.wakeTold();
    }
  }

  /** Returns the current holds of this grant, of whichever threads. */
  public List<Hold> of(ActiveGrant grant) {
    try {
      synchronized (queue.mutex) {
        return current.of(grant);
      }
    } finally {
      queue.wakeTold();
    }
  }

  /** Returns the grant with this number, if there is a current hold of it. */
  public @Nullable ActiveGrant grantNumbered(long number) {
    try {
      synchronized (queue.mutex) {
        return current.numbered(number);
      }
    } finally {
      queue.wakeTold();
    }
  }

  /** Whether a holder has a guard open. */
  public boolean isGuarded() {
    try {
      synchronized (queue.mutex) {
        return current.isAnyGuarded();
      }
    } finally {
      queue.wakeTold();
    }
  }

  // Under the mutex

  private void requireOpen(Handle handle) {
    if (handle.isClosed()) {
      throw new IllegalStateException("The lease of lock '" + queue.key().name() + "' was closed");
    }
  }

  private void checkDetachable(Handle handle, Thread thread) {
    requireOpen(handle);
    Hold hold = handle.hold();
    if (!hold.owned) {
      return;
    }
    if (!hold.isAcquiredBy(thread)) {
      throw new IllegalStateException(
          "Only the thread that owns the lease of lock '" + queue.key().name() + "' can detach it");
    }
    if (hold.open.size() > 1) {
      throw new IllegalStateException("The lease of lock '" + queue.key().name()
          + "' has nested handles that are open: close them");
    }
  }

  void bookIfLost() {
    Hold hold = current.first();
    while (hold != null) {
      Hold next = hold.nextCurrent;
      if (hold.loss != null) {
        // An earlier call was cut short by a stack overflow.
        current.end(hold);
      } else if (hold.grant().state().phase() == Phase.LOST && !hold.givenBack) {
        book(hold);
      }
      hold = next;
    }
  }

  private void book(Hold hold) {
    LeaseLoss loss = lossOf(hold, Objects.requireNonNull(hold.grant().state().lostBy()));
    Deque<Consumer<? super LeaseLoss>> listeners = new ArrayDeque<>();
    for (Handle handle : hold.open) {
      listeners.addAll(handle.lossListeners());
    }
    boolean frees = !current.isShared(hold) && !isGuarded(hold.grant());
    queue.closeToOthers(hold.grant());
    LossNotice notice = new LossNotice(hold, loss, listeners, hold.seen, frees);
    hold.loss = loss;
    hold.untold = notice;
    hold.nextLost = firstLost;
    firstLost = hold;
    current.end(hold);
    queue.passTurn();
  }

  private boolean isGuarded(ActiveGrant grant) {
    if (current.isGuarded(grant)) {
      return true;
    }
    for (Hold hold = firstLost; hold != null; hold = hold.nextLost) {
      if (hold.grant() == grant && hold.openGuards > 0) {
        return true;
      }
    }
    return false;
  }

  /** Makes the loss of a hold, as listeners see it. */
  public static LeaseLoss lossOf(Hold hold, LeaseLoss.Reason reason) {
    return new Loss(hold.lockName(), hold.token(), reason);
  }

  private record Loss(String name, long token, LeaseLoss.Reason reason) implements LeaseLoss {}

  /** Takes a lost hold off the list once its handles are closed and its loss is told. */
  boolean unlistIfOver(Hold hold) {
    if (!hold.open.isEmpty() || hold.untold != null) {
      return false;
    }
    Hold before = null;
    for (Hold lost = firstLost; lost != null; before = lost, lost = lost.nextLost) {
      if (lost == hold) {
        if (before == null) {
          firstLost = lost.nextLost;
        } else {
          before.nextLost = lost.nextLost;
        }
        lost.nextLost = null;
        return true;
      }
    }
    return false;
  }

  /** Returns the grant with this owner id, if there is a current hold of it. */
  @Nullable
  ActiveGrant withOwnerId(String ownerId) {
    bookIfLost();
    return current.withOwnerId(ownerId);
  }

  private @Nullable Hold holdOwnedBy(Thread thread) {
    Hold owned = current.ownedBy(thread);
    if (owned != null) {
      return owned;
    }
    for (Hold lost = firstLost; lost != null; lost = lost.nextLost) {
      if (lost.isOwnedBy(thread) && !lost.open.isEmpty()) {
        return lost;
      }
    }
    return null;
  }
}
