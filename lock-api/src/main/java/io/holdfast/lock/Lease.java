package io.holdfast.lock;

/**
 * The right to what one name stands for: a lock, or a permit of a semaphore ({@link PermitLease}).
 * Its fencing token makes late writes harmless: send {@link #token()} with every write, or use the
 * store's guard.
 */
public interface Lease extends AnyLease {

  /** Returns the name of the lock. */
  @CheckReturnValue
  String name();

  /**
   * Returns the fencing token. It is higher than the token of every earlier acquisition of the same
   * lock or permit, except that nested acquisitions share one. It never changes and can be read
   * after the lease has ended: the system that it is sent to is what refuses a stale token.
   */
  @CheckReturnValue
  long token();

  @Override
  Lease detach();
}
