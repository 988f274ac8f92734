package io.holdfast.lock.internal;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.internal.grant.ActiveGrant;
import io.holdfast.lock.internal.grant.GrantState;
import io.holdfast.lock.internal.queue.Hold;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LeaseGuard;
import io.holdfast.lock.spi.LockStore;
import java.util.concurrent.atomic.AtomicReference;

/** A guard on a lease of this engine. */
public final class EngineGuard<G extends Grant> implements LeaseGuard<G> {
  private enum Phase {
    OPEN,
    SUSPENDING,
    CLOSED
  }

  /** Strong reference: while the guard is in use, the lease does not count as dropped. */
  private final EngineLease lease;

  private final Hold hold;
  private final G grant;
  private final AtomicReference<Phase> phase = new AtomicReference<>(Phase.OPEN);

  private EngineGuard(EngineLease lease, G grant) {
    this.lease = lease;
    this.hold = lease.handle.hold();
    this.grant = grant;
  }

  /** See {@link LeaseGuard#open}. */
  public static <G extends Grant> LeaseGuard<G> open(Lease lease, Class<G> grantType) {
    if (!(lease instanceof EngineLease engineLease)) {
      throw new IllegalArgumentException("A guard takes a lease that a Holdfast client gave, not a "
          + lease.getClass().getName());
    }
    Hold hold = engineLease.handle.hold();
    Grant grant = hold.grant().grant();
    if (!grantType.isInstance(grant)) {
      throw new IllegalArgumentException(
          ("The lease of lock '%s' is of another store: use the guard"
                  + " of the store that it was acquired from")
              .formatted(engineLease.name()));
    }
    engineLease.ensureHeld();
    // Made first: if that fails, no guard is open.
    EngineGuard<G> guard = new EngineGuard<>(engineLease, grantType.cast(grant));
    hold.openGuard(engineLease.handle);
    return guard;
  }

  /** See {@link LeaseGuard#isFor}. */
  public static boolean isFor(LockClient client, Class<? extends LockStore> storeType) {
    return client instanceof EngineClient engine && storeType.isInstance(engine.parts.store());
  }

  @Override
  public G grant() {
    return grant;
  }

  @Override
  public void suspendRenewal() {
    ActiveGrant active = hold.grant();
    // A lease that was only handed over has a few seconds left: get the whole TTL before renewal
    // stops.
    if (phase.get() == Phase.OPEN && !lease.leases.questions.confirm(active)) {
      throw hold.lostException();
    }
    if (phase.compareAndSet(Phase.OPEN, Phase.SUSPENDING)) {
      active.schedule().suspend(lease.leases.parts.storeTimeoutNanos());
    } else if (phase.get() == Phase.CLOSED) {
      throw new IllegalStateException(
          "The guard on the lease of lock '" + hold.lockName() + "' was closed");
    } else {
      active.schedule().awaitFlight(lease.leases.parts.storeTimeoutNanos());
    }
    // A doubt because of the wall clock is not a loss: ask the store.
    boolean stands = active.stands()
        || (active.state().phase() == GrantState.Phase.SUSPECT
            && lease.leases.questions.verify(active));
    if (!stands) {
      throw hold.lostException();
    }
  }

  @Override
  public LockLostException lost() {
    hold.grant().lose(LeaseLoss.Reason.TAKEN);
    return hold.lostException();
  }

  @Override
  public void close() {
    Phase before = phase.getAndSet(Phase.CLOSED);
    if (before == Phase.CLOSED) {
      return;
    }
    boolean wasDue = before == Phase.SUSPENDING && hold.grant().schedule().resume();
    lease.leases.settlement.closeGuard(hold);
    if (wasDue) {
      lease.leases.parts.keeper().requestScan();
    }
  }
}
