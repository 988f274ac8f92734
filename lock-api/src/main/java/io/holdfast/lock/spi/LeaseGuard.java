package io.holdfast.lock.spi;

import io.holdfast.lock.Lease;
import io.holdfast.lock.LockClient;
import io.holdfast.lock.LockLostException;
import io.holdfast.lock.internal.EngineGuard;

/**
 * A guard by which a store makes writes conditional on a lease. It must stay open as long as such a
 * write can still be on its way. Meanwhile a close of the lease does not release it, but the lease
 * can still be lost. A lease that ever had a guard is not handed on within the client, since the
 * store could not tell the next holder from this one.
 *
 * <p>Threads: safe for use by any number of threads.
 *
 * @param <G> the store's own type of grant
 */
public interface LeaseGuard<G extends Grant> extends AutoCloseable {

  /**
   * Opens a guard on a lease. No I/O, unless the wall clock casts doubt on the lease: then the
   * store is asked whether it is still valid.
   *
   * @throws IllegalArgumentException the lease does not belong to this kind of store (another
   *     store's lease, a mock)
   * @throws IllegalStateException this handle was closed
   * @throws LockLostException the lease was lost
   * @throws io.holdfast.lock.LockStoreException the lease is in doubt, and the store gave no usable
   *     answer
   */
  static <G extends Grant> LeaseGuard<G> open(Lease lease, Class<G> grantType) {
    return EngineGuard.open(lease, grantType);
  }

  /**
   * Whether leases of this client belong to this kind of store, so that its guards can be opened on
   * them. No I/O.
   */
  static boolean isFor(LockClient client, Class<? extends LockStore> storeType) {
    return EngineGuard.isFor(client, storeType);
  }

  /** Returns the grant that the store must still show when the write is made. */
  G grant();

  /**
   * Stops renewals of this grant from now until {@link #close()}; for stores whose guard locks what
   * a renewal would write. Waits for a renewal that is under way, at most one store timeout, and so
   * does each further call. Asks the store if the grant was handed over and has not been renewed
   * since, or if the wall clock casts doubt on the lease.
   *
   * @throws LockLostException the lease was lost
   * @throws io.holdfast.lock.LockStoreException the store was asked and gave no usable answer
   * @throws IllegalStateException this guard was closed
   */
  void suspendRenewal();

  /**
   * Reports that the store no longer shows the grant, so that the lease becomes lost.
   *
   * @return the exception to throw
   */
  LockLostException lost();

  /**
   * Ends the guard, after the guarded write is over. Renewal goes on, unless the lease was closed
   * meanwhile: then it is now released in the background. Idempotent, no I/O.
   */
  @Override
  void close();
}
