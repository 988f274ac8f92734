package io.holdfast.lock.jdbc.connection;

import io.holdfast.lock.jdbc.dialect.Dialect;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * A limit, kept by the server, on the wait of each statement for what other sessions have locked.
 * It is set while a table is blocked, by DDL or a backup for example: a statement whose client gave
 * up would wait on at the server, and the pool would open another session in place of its own, with
 * each try one more. A statement that reaches the limit ends, and its session serves the next.
 *
 * <p>Begins with the first statement that has no answer in time, and ends a minute after the last
 * that had none or reached the limit. Not set at other times, since it costs a little on
 * PostgreSQL. Threads: safe for use by any number of threads.
 */
final class WaitLimit {
  private static final long KEPT_NANOS = TimeUnit.MINUTES.toNanos(1);

  /** The part of the store timeout that is the limit: less than the time that one try may take. */
  private static final int SHARE_OF_TIMEOUT = 4;

  private final Dialect dialect;
  private final long limitMillis;
  private volatile long blockedAtNanos;

  WaitLimit(Dialect dialect, Duration storeTimeout) {
    this.dialect = dialect;
    limitMillis = Math.max(1, storeTimeout.toMillis() / SHARE_OF_TIMEOUT);
  }

  /** Notes that a statement had no answer in time. */
  void noteSilence() {
    blockedAtNanos = System.nanoTime();
    dialect.limitWaits(limitMillis);
  }

  /** Notes that a statement may have reached the limit, if there is one. */
  void noteConflict() {
    blockedAtNanos = System.nanoTime();
  }

  /** Ends the limit if it is no longer needed. */
  void relax() {
    if (dialect.waitMillis() > 0 && System.nanoTime() - blockedAtNanos >= KEPT_NANOS) {
      dialect.limitWaits(0);
    }
  }
}
