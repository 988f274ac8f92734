package io.holdfast.lock.spi;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** The deadline of one call to a store, shared by all its requests and waits. Immutable. */
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
   * Returns a deadline that is {@code whole} from now, on the monotonic clock of {@code time}. Use
   * {@link TimeSource#system()} for sockets and drivers, whose timeouts run on real time.
   */
  public static Deadline after(Duration whole, TimeSource time) {
    return new Deadline(time, whole, time.nanos() + whole.toNanos());
  }

  /**
   * Returns a deadline for a part of the work: {@code most} from now, or this one if that is
   * sooner.
   */
  public Deadline within(Duration most) {
    Deadline part = after(most, time);
    return part.endNanos - endNanos < 0 ? part : this;
  }

  /** Returns the time that was left at the beginning. */
  public Duration whole() {
    return whole;
  }

  /** Returns when that time began, on the monotonic clock. */
  public long startNanos() {
    return endNanos - whole.toNanos();
  }

  /** Returns the time left, in nanoseconds; zero or less once the deadline has passed. */
  public long leftNanos() {
    return endNanos - time.nanos();
  }

  /**
   * Returns the time left, in milliseconds, but at least 1: to drivers, a timeout of zero means no
   * timeout.
   */
  public int leftMillis() {
    long leftMillis = TimeUnit.NANOSECONDS.toMillis(leftNanos());
    return (int) Math.max(1, Math.min(Integer.MAX_VALUE, leftMillis));
  }

  /** Whether the deadline has passed. */
  public boolean isOver() {
    return leftNanos() <= 0;
  }

  /**
   * A wait of limited length that an interrupt ends.
   *
   * @param <T> the result
   * @param <X> the exception that the wait may throw
   */
  @FunctionalInterface
  public interface TimedWait<T, X extends Exception> {
    /** Waits for at most this long; zero checks once. */
    T await(long leftNanos) throws InterruptedException, X;
  }

  /**
   * Waits to the end, however often the thread is interrupted; the interrupt flag is set again
   * afterwards. After an interrupt the wait is repeated with the time left, at least zero.
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
