package io.holdfast.lock.internal;

import io.holdfast.lock.AnyLease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LeaseState;
import io.holdfast.lock.LockOptions;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.queue.Handle;
import io.holdfast.lock.internal.queue.LossListeners;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * The user's side of an acquisition, whatever its kind. The engine refers to it only weakly, so
 * that a dropped one can be found.
 */
abstract class HandleLease extends LossListeners implements AnyLease {
  final Leases leases;
  final Handle handle;

  HandleLease(Leases leases, Handle handle) {
    this.leases = leases;
    this.handle = handle;
  }

  public String name() {
    return handle.hold().lockName();
  }

  public long token() {
    return handle.hold().token();
  }

  @Override
  public LeaseState state() {
    return handle.state();
  }

  @Override
  public boolean isHeld() {
    return handle.isHeld();
  }

  @Override
  public void ensureHeld() {
    requireOpen();
    if (!handle.isHeld()) {
      requireHeld(leases.questions.standsOrVerify(grant()) && !handle.isClosed());
    }
  }

  @Override
  public void verify() {
    requireOpen();
    requireHeld(leases.questions.verify(grant()));
  }

  @Override
  public void extend(Duration ttl) {
    extend(ttl, Duration.ZERO);
  }

  @Override
  public void extend(Duration ttl, Duration minHold) {
    requireOpen();
    if (grant().options().isRenewed()) {
      throw new IllegalStateException(
          ("The lease of lock '%s' is renewed for as long as it is held:"
                  + " only a lease with LockOptions.fixed(...) can be extended")
              .formatted(name()));
    }
    LockOptions options = LockOptions.fixed(ttl).withMinHold(minHold);
    leases.parts.checkOptions(options);
    // A lease in doubt is not lost yet: the store is asked below.
    requireHeld(grant().stands() || !grant().state().isOver());
    requireHeld(leases.questions.extend(grant(), options.ttl()));
    grant().holdFor(options.minHold());
  }

  @Override
  public Duration remaining() {
    return handle.isClosed() ? Duration.ZERO : grant().remaining();
  }

  @Override
  public Duration crashBound() {
    return grant().crashBound();
  }

  @Override
  public void onLost(Consumer<? super LeaseLoss> listener) {
    LeaseLoss loss = handle.hold().onLost(handle, this, Objects.requireNonNull(listener));
    if (loss != null) {
      leases.parts.events().tellLoss(loss, listener);
    }
  }

  final void detachFromThread() {
    ensureHeld();
    handle.hold().detach(handle, Thread.currentThread());
  }

  @Override
  public void close() {
    try {
      leases.settlement.close(handle);
    } finally {
      // Keeps the lease from being found as dropped before this line.
      Reference.reachabilityFence(this);
    }
  }

  @Override
  public String toString() {
    return getClass().getInterfaces()[0].getSimpleName() + "[" + name() + ", token " + token()
        + ", " + state() + "]";
  }

  final ActiveGrant grant() {
    return handle.hold().grant();
  }

  private void requireOpen() {
    if (handle.isClosed()) {
      throw new IllegalStateException("The lease of lock '" + name() + "' was closed");
    }
  }

  private void requireHeld(boolean held) {
    if (!held) {
      // If another thread closed it meanwhile, that is not a loss.
      requireOpen();
      throw handle.hold().lostException();
    }
  }
}
