package io.holdfast.lock;

/**
 * Work done under a lock that has a result.
 *
 * @param <T> the result
 * @param <X> its checked exception; inferred as RuntimeException if it throws none, and as
 *     Exception if it throws two that are unrelated
 */
@FunctionalInterface
public interface LeaseFunction<T, X extends Exception> {
  /** Does the work; the lease gives it the fencing token, and is closed by the caller. */
  T call(Lease lease) throws X;
}
