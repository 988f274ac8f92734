package io.holdfast.lock.internal;

import io.holdfast.lock.internal.event.Events;
import io.holdfast.lock.internal.queue.Handle;
import io.holdfast.lock.internal.queue.Hold;
import io.holdfast.lock.internal.queue.LeaseReference;
import io.holdfast.lock.internal.queue.WaitQueue;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.LockKey;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Makes the leases of a client, and finds those that a thread owns. */
final class Leases {
  final Parts parts;
  final Settlement settlement;
  final Questions questions;

  Leases(Parts parts, Settlement settlement, Questions questions) {
    this.parts = parts;
    this.settlement = settlement;
    this.questions = questions;
  }

  /**
   * Acquires a lock.
   *
   * @param handOut converts a handle to what the caller gets
   */
  <T> Attempt.Outcome<T> acquire(Request request, Function<Handle, T> handOut)
      throws InterruptedException {
    Events.Acquiring acquiring = parts.events().acquiring(request.key(), request.mode());
    Attempt.Outcome<T> outcome;
    try {
      outcome = new Attempt<>(parts, settlement, questions, request, handOut, acquiring).run();
    } catch (Throwable e) { // Told to listeners whatever it is, and thrown on.
      acquiring.notAcquired(e);
      throw e;
    }
    if (outcome instanceof Attempt.Taken) {
      acquiring.notAcquired(null);
    }
    return outcome;
  }

  /** Makes a lease for the user. */
  EngineLease lease(Handle handle) {
    return watched(new EngineLease(this, handle));
  }

  /** Makes a lease of a read lock for the user. */
  EngineRead read(Handle handle) {
    return watched(new EngineRead(this, handle));
  }

  /** Makes a lease of a permit for the user. */
  EnginePermit permit(Handle handle) {
    return watched(new EnginePermit(this, handle));
  }

  /** Begins to watch a new lease: it is found if its user drops it. */
  private <T extends HandleLease> T watched(T lease) {
    LeaseReference.watch(lease.handle, lease, parts.droppedLeases().references);
    lease.handle.hold().grant().beginMinHold();
    return lease;
  }

  /** Registers a handle of {@code asLock()} with its thread; it has no lease. */
  Handle threadOwned(Handle handle) {
    parts.droppedLeases().watchThreadOf(handle);
    handle.hold().markThreadOwned(handle);
    handle.hold().grant().beginMinHold();
    return handle;
  }

  /** Whether the thread owns a lease of this lock with which it may use it in this mode. */
  boolean isHeldBy(LockKey key, Claim.Mode mode, Thread thread) {
    Hold hold = ownedBy(key, mode, thread);
    return hold != null && hold.grant().stands();
  }

  /** Returns the hold, lost or not, with which the thread may use this lock in this mode. */
  @Nullable
  Hold ownedBy(LockKey key, Claim.Mode mode, Thread thread) {
    WaitQueue queue = parts.queues().ownedBy(key, mode, thread);
    return queue == null ? null : queue.ownedBy(thread);
  }

  /**
   * Returns the thread's latest open acquisition in this mode through {@code asLock()}. Allocates
   * nothing for an exclusive one, so that a thread can unlock even if the heap is full.
   */
  @Nullable
  Handle lastThreadOwned(LockKey key, Claim.Mode mode, Thread thread) {
    WaitQueue queue = parts.queues().ownedBy(key, mode, thread);
    return queue == null ? null : queue.lastThreadOwned(thread, mode);
  }

  /**
   * Closes the thread's last acquisition in this mode through {@code asLock()}; false if it has
   * none.
   */
  boolean closeOfThread(LockKey key, Claim.Mode mode, Thread thread) {
    Handle handle = lastThreadOwned(key, mode, thread);
    if (handle == null) {
      return false;
    }
    Hold hold = handle.hold();
    try {
      settlement.close(handle);
    } finally {
      if (!hold.hasThreadOwned()) {
        parts.droppedLeases().unwatchThreadOf(hold);
      }
    }
    return true;
  }
}
