package io.holdfast.lock.internal.queue;

import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LeaseState;
import java.lang.ref.ReferenceQueue;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One acquisition, as the engine keeps it. It does not refer to the user's lease, so that a lease
 * that the user dropped can be found out.
 */
public final class Handle {
  private final Hold hold;

  /** Written under the queue's mutex. */
  private volatile boolean closed;

  /** Its end, where the grant goes on without it; written under the queue's mutex. */
  private volatile @Nullable LeaseState end;

  /** Its user is gone. */
  private volatile boolean dropped;

  /**
   * Only here is the reference reachable, and a reference that is not reachable itself tells nobody
   * of anything. Null where the user has no lease, and when it was closed.
   */
  @Nullable
  LeaseReference leaseReference;

  Handle(Hold hold) {
    this.hold = hold;
  }

  /** The hold that it is part of. */
  public Hold hold() {
    return hold;
  }

  /** Has the user's lease watched: if it becomes unreachable, its reference is enqueued. */
  public void watch(LossListeners lease, ReferenceQueue<LossListeners> queue) {
    leaseReference = new LeaseReference(lease, this, queue);
  }

  /** Under the queue's mutex. */
  List<Consumer<? super LeaseLoss>> lossListeners() {
    LeaseReference reference = leaseReference;
    LossListeners lease = reference == null ? null : reference.get();
    return lease == null ? List.of() : lease.lossListeners();
  }

  /** Its user is gone without closing it. */
  public void markDropped() {
    dropped = true;
  }

  boolean isDropped() {
    return dropped;
  }

  /** Whether it was closed, by its user or because that is gone. */
  public boolean isClosed() {
    return closed;
  }

  /** Under the queue's mutex. */
  void close(@Nullable LeaseState how) {
    end = how;
    closed = true;
    leaseReference = null;
  }

  /** Whether it is open and its grant stands. */
  public boolean isHeld() {
    return !closed && hold.grant().stands();
  }

  /** The state that its user sees. */
  public LeaseState state() {
    if (!closed) {
      return hold.grant().leaseState();
    }
    LeaseState ended = end;
    if (ended != null) {
      return ended;
    }
    LeaseState state = hold.grant().leaseState();
    // Closed under an open guard, and not released yet.
    return state == LeaseState.HELD ? LeaseState.UNCERTAIN : state;
  }
}
