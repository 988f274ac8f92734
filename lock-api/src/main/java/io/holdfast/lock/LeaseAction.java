package io.holdfast.lock;

/**
 * Work done under a lock.
 *
 * @param <X> its checked exception; inferred as RuntimeException if it throws none, and as
 *     Exception if it throws two that are unrelated
 */
@FunctionalInterface
public interface LeaseAction<X extends Exception> {
  /** Does the work; the lease gives it the fencing token, and is closed by the caller. */
  void run(Lease lease) throws X;
}
