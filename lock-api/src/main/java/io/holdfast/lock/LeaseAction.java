package io.holdfast.lock;

/**
 * Work to be done under a lock.
 *
 * @param <L> the lease that the work is given
 * @param <X> the checked exception that the work may throw; inferred as RuntimeException if there
 *     is none, and as Exception if there are two unrelated ones
 */
@FunctionalInterface
public interface LeaseAction<L extends AnyLease, X extends Exception> {
  /** Does the work. The lease gives access to the fencing token; it is closed by the caller. */
  void run(L lease) throws X;
}
