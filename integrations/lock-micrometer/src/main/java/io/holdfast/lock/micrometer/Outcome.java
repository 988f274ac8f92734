package io.holdfast.lock.micrometer;

import io.holdfast.lock.LockClientClosedException;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The end of a call that wanted a lock, or of a lease. */
enum Outcome {
  ACQUIRED,
  /** Another has the lock. */
  TAKEN,
  INTERRUPTED,
  /** The client was closed. */
  CLOSED,
  /** Most often, the store did not answer. */
  FAILED,

  RELEASED,
  /** The holder closed the lease, but the store did not answer. */
  UNCONFIRMED,
  LOST;

  private final String tag = name().toLowerCase(Locale.ROOT);

  /** @param failure what the caller gets; null if the lock was taken */
  static Outcome of(@Nullable Throwable failure) {
    if (failure == null) {
      return TAKEN;
    } else if (failure instanceof InterruptedException) {
      return INTERRUPTED;
    } else if (failure instanceof LockClientClosedException) {
      return CLOSED;
    }
    return FAILED;
  }

  String tag() {
    return tag;
  }
}
