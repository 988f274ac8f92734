package io.holdfast.lock;

/**
 * The right to one permit of a {@link DistributedSemaphore}, until {@link #close()} or until it is
 * lost. It belongs to no thread.
 */
public interface PermitLease extends Lease {

  /** Returns the name of the semaphore. */
  @Override
  @CheckReturnValue
  String name();

  /**
   * Returns the fencing token. It is higher than the token of every earlier acquisition of this
   * {@linkplain #permit() permit}; tokens of different permits say nothing about each other, so
   * send both with writes. It never changes and can be read after the lease has ended.
   */
  @Override
  @CheckReturnValue
  long token();

  /**
   * Returns the permit: 0 to the number of permits - 1. No other lease that is valid has it. It
   * never changes and can be read after the lease has ended.
   */
  @CheckReturnValue
  int permit();

  @Override
  PermitLease detach();
}
