package io.holdfast.lock.spi;

import java.util.concurrent.locks.LockSupport;

/**
 * The clocks, and waiting by them. The engine's only source of time, so that tests can replace it.
 * Must be safe for use by any number of threads.
 */
public interface TimeSource {
  /**
   * Reads the monotonic clock, in nanoseconds. Only differences between readings have a meaning.
   */
  long nanos();

  /**
   * Reads the wall clock, in milliseconds since 1970. It can jump; the engine uses it only to doubt
   * a lease, never to trust one longer.
   */
  long wallMillis();

  /**
   * Parks the calling thread until {@link LockSupport#unpark}, an interrupt, or the end of
   * {@code nanos} on the monotonic clock; may return early without a reason. Zero or less returns
   * at once.
   */
  void park(Object blocker, long nanos);

  /** Returns the machine's clocks. */
  static TimeSource system() {
    return SystemTime.INSTANCE;
  }
}
