package io.holdfast.lock.spi;

import java.util.concurrent.locks.LockSupport;

/**
 * The clocks, and waiting for them. The engine takes time from nowhere else, so that tests run on a
 * time of their own. Safe for all threads.
 */
public interface TimeSource {
  /** The monotonic clock, in nanoseconds; only differences mean something. */
  long nanos();

  /**
   * The wall clock, in milliseconds since 1970. It can jump; the engine uses it only to doubt a
   * lease, never to trust one.
   */
  long wallMillis();

  /**
   * Parks the calling thread until {@link LockSupport#unpark}, an interrupt, or {@code nanos} of
   * the monotonic clock are over; may return early for no reason. Zero or less returns at once.
   */
  void park(Object blocker, long nanos);

  /** The machine's clocks. */
  static TimeSource system() {
    return SystemTime.INSTANCE;
  }
}
