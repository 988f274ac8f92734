package io.holdfast.lock.internal;

import io.holdfast.lock.Lease;
import io.holdfast.lock.spi.Grant;
import io.holdfast.lock.spi.LeaseGuard;

/** Placeholder: being written. */
public final class GuardedLease {
  private GuardedLease() {}

  public static <G extends Grant> LeaseGuard<G> open(Lease lease, Class<G> grantType) {
    throw new UnsupportedOperationException("being written");
  }
}
