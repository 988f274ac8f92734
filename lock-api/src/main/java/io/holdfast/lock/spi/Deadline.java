package io.holdfast.lock.spi;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * The end of the time that one call to a store has: what all its requests and waits share.
 * Immutable.
 */
public final class Deadline {
  private final TimeSource time;
  private final Duration whole;
  private final long endNanos;

  private Deadline(TimeSource time, Duration whole, long endNanos) {
    this.time = time;
    this.whole = whole;
    this.endNanos = endNanos;
  }

  /**
   * Begins now and ends after {@code whole}, by the monotonic clock of {@code time}. For sockets
   * and drivers, whose timeouts run on real time, take {@link TimeSource#system()}.
   */
  public static Deadline after(Duration whole, TimeSource time) {
    return new Deadline(time, whole, time.nanos() + whole.toNanos());
  }

  /** For a part of the work: ends after {@code most}, or with this one if that is sooner. */
  public Deadline within(Duration most) {
    Deadline part = after(most, time);
    return part.endNanos - endNanos < 0 ? part : this;
  }

  /** The time that there was at the beginning. */
  public Duration whole() {
    return whole;
  }

  /** Zero or less once it is over. */
  public long leftNanos() {
    return endNanos - time.nanos();
  }

  /** For drivers, to whom zero means for ever: at least one. */
  public int leftMillis() {
    long leftMillis = TimeUnit.NANOSECONDS.toMillis(leftNanos());
    return (int) Math.max(1, Math.min(Integer.MAX_VALUE, leftMillis));
  }

  /** Whether no time is left. */
  public boolean isOver() {
    return leftNanos() <= 0;
  }

  /**
   * A wait that ends within a given time, or is interrupted.
   *
   * @param <T> the result
   * @param <X> the failure
   */
  @FunctionalInterface
  public interface TimedWait<T, X extends Exception> {
    /** Waits; zero: looks once. */
    T await(long leftNanos) throws InterruptedException, X;
  }

  /**
   * Waits until the wait ends, however often the thread is interrupted; the flag is set again
   * afterwards. The wait is begun again with what is left of the time, zero at the least.
   */
  public <T, X extends Exception> T awaitUninterruptibly(TimedWait<T, X> wait) throws X {
    boolean interrupted = Thread.interrupted();
    try {
      while (true) {
        try {
          return wait.await(Math.max(0, leftNanos()));
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
