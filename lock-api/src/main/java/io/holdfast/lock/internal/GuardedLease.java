package io.holdfast.lock.internal;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LeaseLoss;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LeaseGuard;
import java.util.concurrent.atomic.AtomicBoolean;

/** A guard on a lease of this engine. */
public final class GuardedLease<G extends Grant> implements LeaseGuard<G> {
  private final EngineClient client;
  private final Hold hold;
  private final G grant;
  private final AtomicBoolean suspended = new AtomicBoolean();
  private final AtomicBoolean closed = new AtomicBoolean();

  private GuardedLease(EngineClient client, Hold hold, G grant) {
    this.client = client;
    this.hold = hold;
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
    return new GuardedLease<>(leaseHandle.client(), hold, grantType.cast(grant));
  }

  @Override
  public G grant() {
    return grant;
  }

  @Override
  public void suspendRenewal() {
    if (closed.get()) {
      throw new IllegalStateException("The guard was closed");
    }
    if (!hold.tenure().stands()) {
      throw lostNow();
    }
    if (suspended.compareAndSet(false, true)) {
      hold.tenure().renewal().suspend(client.storeTimeoutNanos());
    }
  }

  @Override
  public LockLostException lost() {
    hold.tenure().lose(LeaseLoss.Reason.TAKEN);
    return lostNow();
  }

  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    if (suspended.get()) {
      hold.tenure().renewal().resume();
    }
    client.closeGuard(hold);
  }

  private LockLostException lostNow() {
    LeaseLoss.Reason reason = hold.tenure().standing().lostBy();
    return new LockLostException(
        hold.tenure().line().key().name(),
        hold.token(),
        reason == null ? LeaseLoss.Reason.EXPIRED : reason);
  }
}
