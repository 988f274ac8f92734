package io.holdfast.lock.internal;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LeaseGuard;
import java.util.concurrent.atomic.AtomicReference;

/** A guard on a lease of this engine. */
public final class GuardedLease<G extends Grant> implements LeaseGuard<G> {
  private enum Phase {
    OPEN,
    SUSPENDING,
    CLOSED
  }

  /** Kept, since whoever has a guard has not dropped its lease. */
  private final LeaseHandle lease;

  private final Hold hold;
  private final G grant;
  private final AtomicReference<Phase> phase = new AtomicReference<>(Phase.OPEN);

  private GuardedLease(LeaseHandle lease, G grant) {
    this.lease = lease;
    this.hold = lease.handle().hold();
    this.grant = grant;
  }

  /** See {@link LeaseGuard#open}. */
  public static <G extends Grant> LeaseGuard<G> open(Lease lease, Class<G> grantType) {
    if (!(lease instanceof LeaseHandle leaseHandle)) {
      throw new IllegalArgumentException("A guard takes a lease that a Holdfast client gave, not a "
          + lease.getClass().getName());
    }
    Hold hold = leaseHandle.handle().hold();
    Grant grant = hold.tenure().grant();
    if (!grantType.isInstance(grant)) {
      throw new IllegalArgumentException("The lease of lock '"
          + leaseHandle.name()
          + "' is of another store: use the guard of the store that it was acquired from");
    }
    leaseHandle.ensureHeld();
    hold.tenure().line().openGuard(leaseHandle.handle());
    return new GuardedLease<>(leaseHandle, grantType.cast(grant));
  }

  @Override
  public G grant() {
    return grant;
  }

  @Override
  public void suspendRenewal() {
    if (phase.compareAndSet(Phase.OPEN, Phase.SUSPENDING)) {
      hold.tenure().renewal().suspend(lease.client().storeTimeoutNanos());
    } else if (phase.get() == Phase.CLOSED) {
      throw new IllegalStateException("The guard was closed");
    }
    if (!hold.tenure().stands()) {
      throw lostNow();
    }
  }

  @Override
  public LockLostException lost() {
    hold.tenure().lose(LeaseLoss.Reason.TAKEN);
    return lostNow();
  }

  @Override
  public void close() {
    Phase before = phase.getAndSet(Phase.CLOSED);
    if (before == Phase.CLOSED) {
      return;
    }
    if (before == Phase.SUSPENDING) {
      hold.tenure().renewal().resume();
    }
    lease.client().closeGuard(hold);
  }

  private LockLostException lostNow() {
    LeaseLoss.Reason reason = hold.tenure().standing().lostBy();
    return new LockLostException(
        hold.tenure().line().key().name(),
        hold.token(),
        reason == null ? LeaseLoss.Reason.EXPIRED : reason);
  }
}
