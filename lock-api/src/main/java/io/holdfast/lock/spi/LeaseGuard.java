package io.holdfast.lock.spi;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.internal.GuardedLease;

/**
 * A store's right to make writes conditional on a lease. Open while such a write can still be on
 * its way; the lease can't be released meanwhile, and is never handed on locally afterwards, since
 * the store could not tell its next holder from this one.
 *
 * <p>Threads: safe for all.
 *
 * @param <G> the store's own type of grant
 */
public interface LeaseGuard<G extends Grant> extends AutoCloseable {

  /**
   * Opens a guard on a lease. No I/O, unless the wall clock put the lease in doubt: then the store
   * is asked whether it stands.
   *
   * @throws IllegalArgumentException the lease is not of this store's engine (another store, a
   *     mock)
   * @throws IllegalStateException this handle was closed
   * @throws LockLostException the lease was lost
   * @throws io.holdfast.lock.LockStoreException the lease is in doubt, and the store gave no usable
   *     answer
   */
  static <G extends Grant> LeaseGuard<G> open(Lease lease, Class<G> grantType) {
    return GuardedLease.open(lease, grantType);
  }

  /** The grant that the store shall still show. */
  G grant();

  /**
   * From now until {@link #close()} the engine does not renew this grant. Waits for a renewal that
   * is under way, at most one store timeout; so does each further call. For stores whose guard
   * locks what a renewal would write.
   *
   * @throws LockLostException the lease was lost
   * @throws IllegalStateException this guard was closed
   */
  void suspendRenewal();

  /**
   * Tells that the store no longer shows the grant: the lease is lost.
   *
   * @return the exception to throw
   */
  LockLostException lost();

  /**
   * The guarded write is over. Renewal goes on; if the lease was closed meanwhile, it is released
   * now, in the background. Idempotent, no I/O.
   */
  @Override
  void close();
}
