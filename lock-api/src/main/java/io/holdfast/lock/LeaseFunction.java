package io.holdfast.lock;

/**
 * Work with a result, to be done under a lock.
 *
 * @param <L> the lease that the work is given
 * @param <T> the type of the result
 * @param <X> the checked exception that the work may throw; inferred as RuntimeException if there
 *     is none, and as Exception if there are two unrelated ones
 */
@FunctionalInterface
public interface LeaseFunction<L extends AnyLease, T, X extends Exception> {
  /** Does the work. The lease gives access to the fencing token; it is closed by the caller. */
  T call(L lease) throws X;
}
