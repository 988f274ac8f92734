package io.holdfast.lock;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The lock stayed taken for all of the time that the caller was ready to wait. Nothing is held. */
public final class LockTimeoutException extends LockException {
  private static final long serialVersionUID = 1;

  private final Duration waited;

  /** After that wait; {@code holder} describes the lock's holder, as far as known. */
  public LockTimeoutException(String lockName, Duration waited, @Nullable String holder) {
    super(
        lockName,
        "Lock '"
            + lockName
            + "' stayed taken for "
            + waited.toMillis()
            + " ms"
            + (holder == null ? "" : "; it is held by " + holder),
        null);
    this.waited = waited;
  }

  /** The time for which the caller waited. */
  public Duration waited() {
    return waited;
  }
}
