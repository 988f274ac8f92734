package io.holdfast.lock;

import org.jspecify.annotations.Nullable;

/**
 * The store gave no usable answer. No lease was given; the name may stay taken for up to one TTL,
 * since the request may have got through. Never means "busy".
 *
 * <p>Open for subtypes of stores.
 */
public class LockStoreException extends LockException {
  private static final long serialVersionUID = 1;

  /** With the driver's exception as the cause, if there is one. */
  public LockStoreException(String lockName, String message, @Nullable Throwable cause) {
    super(lockName, message, cause);
  }
}
