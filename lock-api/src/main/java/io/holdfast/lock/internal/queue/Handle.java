package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.spi.Claim;
import java.lang.ref.WeakReference;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One acquisition, as the engine keeps it. It has no strong reference to the user's lease, so that
 * a lease that the user dropped can be found.
 */
public final class Handle {
  /**
   * A handle that its user dropped, and that is closed now.
   *
   * @param hold the handle's hold
   * @param leaks whether this was the last handle of the grant, which ends with its TTL
   * @param isOver whether the hold is over: the caller must call {@link WaitQueues#endUse}
   */
  public record Dropped(Hold hold, boolean leaks, boolean isOver) {}

  private final Hold hold;

  /** The mode that it was asked for in: a read within a write is shared. */
  final Claim.Mode mode;

  /** Written under the queue's mutex. */
  private volatile boolean closed;

  /**
   * The final state of this handle; null if it shows the state of its grant. Written under the
   * queue's mutex.
   */
  private volatile @Nullable LeaseState end;

  /** Whether it was acquired through {@code asLock()}; guarded by the queue's mutex. */
  boolean threadOwned;

  /**
   * The reference to the user's lease, kept reachable here: a reference that is itself unreachable
   * is never enqueued. Null if the user has no lease, or has closed it.
   */
  volatile @Nullable WeakReference<LossListeners> leaseReference;

  Handle(Hold hold, Claim.Mode mode) {
    this.hold = hold;
    this.mode = mode;
  }

  /** Returns the hold that it is part of. */
  public Hold hold() {
    return hold;
  }

  /** Returns the listeners of the user's lease. Called under the queue's mutex. */
  List<Consumer<? super LeaseLoss>> lossListeners() {
    WeakReference<LossListeners> reference = leaseReference;
    LossListeners lease = reference == null ? null : reference.get();
    return lease == null ? List.of() : lease.lossListeners();
  }

  /**
   * Whether nobody can close it any more: its lease became unreachable, or it was acquired through
   * {@code asLock()} by a thread that has died. Called under the queue's mutex.
   */
  boolean isDropped() {
    WeakReference<LossListeners> reference = leaseReference;
    return reference == null ? threadOwned && !hold.acquirer().isAlive() : reference.refersTo(null);
  }

  /** Whether it was closed, by its user or after the user dropped it. */
  public boolean isClosed() {
    return closed;
  }

  /**
   * Closes this handle, under the queue's mutex; {@code finalState} null: it shows the state of its
   * grant.
   */
  void close(@Nullable LeaseState finalState) {
    end = finalState;
    closed = true;
    leaseReference = null;
  }

  /** Whether it is open and its grant is valid. */
  public boolean isHeld() {
    return !closed && hold.grant().stands();
  }

  /** Returns the state that the user sees. */
  public LeaseState state() {
    if (!closed) {
      return hold.grant().leaseState();
    }
    LeaseState ended = end;
    if (ended != null) {
      return ended;
    }
    LeaseState state = hold.grant().leaseState();
    // It was closed and is not released yet, or was dropped.
    return state == LeaseState.HELD ? LeaseState.UNCERTAIN : state;
  }
}
