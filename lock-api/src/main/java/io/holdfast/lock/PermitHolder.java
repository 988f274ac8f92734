package io.holdfast.lock;

/** The holder of a permit of a semaphore, as the store showed it at one moment. */
public interface PermitHolder extends LockHolder {
  /**
   * The token of the holder's lease; {@link DistributedSemaphore#forceRelease(long)} accepts it.
   */
  @Override
  long token();

  /** The permit that it has ({@link PermitLease#permit()}). */
  int permit();
}
