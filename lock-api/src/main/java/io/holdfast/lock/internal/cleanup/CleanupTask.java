package io.holdfast.lock.internal.cleanup;

import io.holdfast.lock.internal.task.Task;
import io.holdfast.lock.spi.Claim;
import io.holdfast.lock.spi.StoreException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A call to the store that is repeated, at growing intervals, until it is answered or no longer
 * matters; then it is made again at each of the given times.
 */
final class CleanupTask extends Task {
  private static final long RETRY_NANOS_MIN = 100_000_000;
  private static final long RETRY_NANOS_MAX = 5_000_000_000L;

  /** A call to the store. */
  @FunctionalInterface
  interface StoreCall {
    void run() throws StoreException;
  }

  private final Cleanup cleanup;
  private final Claim claim;
  private final long untilNanos;
  private final StoreCall call;

  /**
   * The times at which to make the call again, the earliest first. This and the next field are
   * accessed only by the thread that runs the task.
   */
  private final Deque<Long> repeatAtNanos;

  private long delayNanos = RETRY_NANOS_MIN;

  CleanupTask(
      Cleanup cleanup, Claim claim, long lastsNanos, List<Long> repeatAtNanos, StoreCall call) {
    this.cleanup = cleanup;
    this.claim = claim;
    this.untilNanos = cleanup.nowNanos() + lastsNanos;
    this.repeatAtNanos = new ArrayDeque<>(repeatAtNanos);
    this.call = call;
  }

  String lockName() {
    return claim.key().name();
  }

  @Override
  protected void work() {
    if (!cleanup.isOpen(this)) {
      return;
    }
    if (cleanup.isEnding()) {
      lastTry();
      return;
    }
    Long nextNanos = attempt();
    if (nextNanos == null) {
      cleanup.done(this);
    } else if (cleanup.isEnding()) {
      // The client was closed while this task was running.
      lastTry();
    } else {
      cleanup.againAt(nextNanos, this);
    }
  }

  private void lastTry() {
    try {
      call.run();
      cleanup.done(this);
    } catch (Throwable e) {
      cleanup.failedAtTheEnd(this);
      Cleanup.log.debug("Lock '{}' could not be cleaned up at the store", lockName(), e);
    }
  }

  /** Makes the call. Returns the time at which to run again, or null if the task is done. */
  private @Nullable Long attempt() {
    try {
      call.run();
    } catch (Throwable e) { // Whatever a store throws means that it gave no usable answer.
      return retryAt(e);
    }
    delayNanos = RETRY_NANOS_MIN;
    long nowNanos = cleanup.nowNanos();
    while (!repeatAtNanos.isEmpty() && repeatAtNanos.peek() - nowNanos <= 0) {
      repeatAtNanos.remove();
    }
    return repeatAtNanos.peek();
  }

  private @Nullable Long retryAt(Throwable failure) {
    long nextNanos = cleanup.nowNanos() + delayNanos;
    if (nextNanos - untilNanos > 0) {
      Cleanup.log.warn(
          "Lock '{}' could not be cleaned up at the store; its TTL is over by now",
          lockName(),
          failure);
      return null;
    }
    delayNanos = Math.min(2 * delayNanos, RETRY_NANOS_MAX);
    Cleanup.log.debug(
        "Lock '{}' could not be cleaned up at the store; again later", lockName(), failure);
    return nextNanos;
  }
}
