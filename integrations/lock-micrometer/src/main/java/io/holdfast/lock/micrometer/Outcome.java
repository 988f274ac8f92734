package io.holdfast.lock.micrometer;

import io.holdfast.lock.LockClientClosedException;
import io.holdfast.lock.PermitsMismatchException;
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
  /**
   * The caller asked for another number of permits than the semaphore has, or for other options
   * than those of its own open lease: a bug of the application.
   */
  REFUSED,
  /** The call failed: most often, the store did not answer. */
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
    } else if (isMisuse(failure)) {
      return REFUSED;
    }
    return FAILED;
  }

  private static boolean isMisuse(Throwable failure) {
    return failure instanceof PermitsMismatchException
        || failure instanceof IllegalStateException
        || failure instanceof IllegalArgumentException;
  }

  String tag() {
    return tag;
  }
}
