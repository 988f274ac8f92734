package io.holdfast.lock;

/**
 * Work done under a lock that has a result.
 *
 * @param <T> the result
 * @param <X> what it throws; inferred as RuntimeException if nothing checked
 */
@FunctionalInterface
public interface LeaseFunction<T, X extends Exception> {
  /** Does the work; the lease gives it the fencing token, and is closed by the caller. */
  T call(Lease lease) throws X;
}
