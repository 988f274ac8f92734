package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.grant.GrantState.Phase;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The holder of a name within one client, and the holds that were lost there and are not closed or
 * not told yet.
 *
 * <p>Threads: any; everything is guarded by the mutex of the {@link WaitQueue}. Methods that are
 * not public are called under it.
 */
public final class Holds {
  private final WaitQueue queue;
  private @Nullable Hold holder;

  /** The first of the lost. */
  private @Nullable Hold firstLost;

  Holds(WaitQueue queue) {
    this.queue = queue;
  }

  void begin(Hold hold) {
    holder = hold;
  }

  void end() {
    holder = null;
  }

  /** Whether it is the holder as far as is booked: books nothing itself. */
  boolean isHolder(Hold hold) {
    return holder == hold;
  }

  boolean isHeld() {
    return holder != null;
  }

  /** The holder, which has not been lost as far as anybody knows. */
  @Nullable
  Hold current() {
    bookIfLost();
    return holder;
  }

  /** @throws LockLostException this thread owns a lease that was lost and is not closed */
  void requireNoneLost(Thread thread) {
    for (Hold lost = firstLost; lost != null; lost = lost.nextLost) {
      if (lost.owner == thread && !lost.open.isEmpty()) {
        throw lost.lostException();
      }
    }
  }

  /** A waiter takes the lease that it was handed; false: it was lost on the way. */
  public boolean take(Handle handle) {
    try {
      synchronized (queue) {
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
   * The loss of this grant, if it is still to be told; {@link #told} follows. Null: its closing
   * thread tells, or it was told.
   */
  public @Nullable LossNotice notice(ActiveGrant grant) {
    try {
      synchronized (queue) {
        bookIfLost();
        Hold hold = holdOf(grant);
        return hold == null ? null : hold.untold;
      }
    } finally {
      queue.wakeTold();
    }
  }

  /** A loss was told; whether nothing is left of the hold, so that the queue is to be left. */
  public boolean told(Hold hold) {
    try {
      synchronized (queue) {
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
   * A listener for the loss of a lease.
   *
   * @return the loss, if it happened already: the caller tells the listener
   */
  public @Nullable LeaseLoss onLost(
      Handle handle, LossListeners lease, Consumer<? super LeaseLoss> listener) {
    try {
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
    } finally {
      queue.wakeTold();
    }
  }

  /** A handle that its user dropped, and that is closed now. */
  public record Dropped(Hold hold, boolean last, boolean queueLeft) {}

  /** Closes one of the handles of this grant that their users dropped; null: there is none. */
  public @Nullable Dropped takeDropped(ActiveGrant grant) {
    try {
      synchronized (queue) {
        bookIfLost();
        Hold hold = holdOf(grant);
        if (hold == null) {
          return null;
        }
        hold.dropIfAcquirerDead();
        for (Handle handle : hold.open) {
          if (handle.isDropped()) {
            boolean lastHandle = hold.open.size() == 1;
            boolean leaves = lastHandle && hold.loss != null && hold.untold == null;
            Dropped dropped = new Dropped(hold, lastHandle, leaves);
            hold.leaked = true;
            hold.remove(handle, null);
            if (lastHandle) {
              hold.owner = null;
            }
            if (leaves) {
              boolean unused = unlistIfOver(hold);
            }
            return dropped;
          }
        }
        return null;
      }
    } finally {
      queue.wakeTold();
    }
  }

  // Holding

  /** Takes a lease from its owner thread. */
  public void detach(Handle handle, Thread thread) {
    try {
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
        if (hold.open.size() > 1) {
          throw new IllegalStateException("The lease of lock '" + queue.key().name()
              + "' has nested handles that are open: close them");
        }
        hold.owner = null;
        hold.detached = true;
      }
    } finally {
      queue.wakeTold();
    }
  }

  /** Opens a guard; {@link #closeGuard} follows. */
  public void openGuard(Handle handle) {
    try {
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
    } finally {
      queue.wakeTold();
    }
  }

  /** The end of a guard. */
  public enum GuardEnd {
    /** The lease goes on, or other guards are open. */
    NOTHING,
    /** The hold leads, and is to be given back to the store. */
    TO_BE_RELEASED,
    /** The lease was lost meanwhile, and the store may still show it. */
    LOST
  }

  /** A guard ended. */
  public GuardEnd closeGuard(Hold hold) {
    try {
      synchronized (queue) {
        bookIfLost();
        hold.openGuards--;
        if (hold.openGuards > 0) {
          return GuardEnd.NOTHING;
        } else if (hold.loss != null) {
          return GuardEnd.LOST;
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

  /** An acquisition through {@code asLock()}, for which the thread itself keeps nothing. */
  public void addThreadOwned(Handle handle) {
    try {
      synchronized (queue) {
        handle.hold().pushThreadOwned(handle);
      }
    } finally {
      queue.wakeTold();
    }
  }

  /** The last acquisition of this thread through {@code asLock()} that is open. */
  public @Nullable Handle lastThreadOwned(Thread thread) {
    try {
      synchronized (queue) {
        Hold hold = holdOwnedBy(thread);
        return hold == null ? null : hold.lastThreadOwned();
      }
    } finally {
      queue.wakeTold();
    }
  }

  /** Whether an acquisition through {@code asLock()} is open in this hold. */
  public boolean hasThreadOwned(Hold hold) {
    try {
      synchronized (queue) {
        return hold.lastThreadOwned() != null;
      }
    } finally {
      queue.wakeTold();
    }
  }

  /** The lease that this thread owns, lost or not. */
  public @Nullable Hold ownedBy(Thread thread) {
    try {
      synchronized (queue) {
        return holdOwnedBy(thread);
      }
    } finally {
      queue.wakeTold();
    }
  }

  /** The lease that some thread of this client holds. */
  public @Nullable Hold holder() {
    try {
      synchronized (queue) {
        return holder;
      }
    } finally {
      queue.wakeTold();
    }
  }

  /** Whether the holder has a guard open. */
  public boolean isGuarded() {
    try {
      synchronized (queue) {
        return holder != null && holder.openGuards > 0;
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

  void bookIfLost() {
    Hold hold = holder;
    if (hold != null && hold.grant().state().phase() == Phase.LOST) {
      book(hold);
    }
  }

  private void book(Hold hold) {
    LeaseLoss loss = lossOf(hold, Objects.requireNonNull(hold.grant().state().lostBy()));
    Deque<Consumer<? super LeaseLoss>> listeners = new ArrayDeque<>();
    for (Handle handle : hold.open) {
      listeners.addAll(handle.lossListeners());
    }
    LossNotice notice = new LossNotice(hold, loss, listeners, hold.seen, hold.openGuards > 0);
    hold.loss = loss;
    hold.untold = notice;
    hold.nextLost = firstLost;
    firstLost = hold;
    holder = null;
    queue.passTurn();
  }

  /** The loss of a hold, for those that are told. */
  public static LeaseLoss lossOf(Hold hold, LeaseLoss.Reason reason) {
    return new Loss(hold.lockName(), hold.token(), reason);
  }

  private record Loss(String name, long token, LeaseLoss.Reason reason) implements LeaseLoss {}

  /** A lost hold is kept until its handles are closed and its loss is told. */
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

  private @Nullable Hold holdOf(ActiveGrant grant) {
    if (holder != null && holder.grant() == grant) {
      return holder;
    }
    for (Hold lost = firstLost; lost != null; lost = lost.nextLost) {
      if (lost.grant() == grant) {
        return lost;
      }
    }
    return null;
  }

  private @Nullable Hold holdOwnedBy(Thread thread) {
    if (holder != null && holder.owner == thread) {
      return holder;
    }
    for (Hold lost = firstLost; lost != null; lost = lost.nextLost) {
      if (lost.owner == thread && !lost.open.isEmpty()) {
        return lost;
      }
    }
    return null;
  }
}
