package io.holdfast.lock;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Thrown when the lock stayed taken for the whole time that the caller was willing to wait. The
 * caller holds nothing.
 */
public final class LockTimeoutException extends LockException {
  private static final long serialVersionUID = 1;

  private final Duration waited;

  /** Makes the exception; {@code holder} describes the lock's holder, null if unknown. */
  public LockTimeoutException(String lockName, Duration waited, @Nullable String holder) {
    super(
        lockName,
        "Lock '%s' stayed taken for %s ms%s"
            .formatted(
                lockName, waited.toMillis(), holder == null ? "" : "; it is held by " + holder),
        null);
    this.waited = waited;
  }

  /** Returns the time for which the caller waited. */
  public Duration waited() {
    return waited;
  }
}
