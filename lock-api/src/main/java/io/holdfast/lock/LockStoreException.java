package io.holdfast.lock;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when the store gave no usable answer: it did not answer in time, could not be reached, or
 * refused the request. An acquire that throws this gave no lease, but the name may stay taken for
 * up to one TTL, since the request may have been carried out. Never means that the lock is taken.
 *
 * <p>Not final, so that stores can have subtypes.
 */
public class LockStoreException extends LockException {
  private static final long serialVersionUID = 1;

  /** Makes the exception, with the driver's exception as the cause if there is one. */
  public LockStoreException(String lockName, String message, @Nullable Throwable cause) {
    super(lockName, message, cause);
  }
}
