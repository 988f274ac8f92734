package io.holdfast.lock;

/**
 * Work done under a lock.
 *
 * @param <X> what it throws; inferred as RuntimeException if nothing checked
 */
@FunctionalInterface
public interface LeaseAction<X extends Exception> {
  /** Does the work; the lease gives it the fencing token, and is closed by the caller. */
  void run(Lease lease) throws X;
}
