package io.holdfast.lock.torture;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * One call of a worker's thread for a lock, and its outcome. All times are {@link System#nanoTime},
 * which is one clock for all processes of the machine; zero if the call did not get that far.
 *
 * @param name the number of the lock, or of the permit, which stands behind those of the locks
 * @param options the kind of call and lease, as text
 * @param recovery whether it was made after the last fault, to see that the name is free
 * @param askedAt before the call
 * @param answeredAt after the call
 * @param believedFrom after {@code isHeld()} was first true
 * @param believedUntil before {@code isHeld()} was last true
 * @param doubtedAt after {@code isHeld()} was false
 * @param closeBeganAt before {@code close()}
 * @param closedAt after {@code close()}
 * @param maxWaitMillis the longest wait; negative: no limit
 * @param minHoldMillis the minimum hold; zero: none
 * @param stalledNanos the time in the call in which the process did not run, or had no memory
 */
record Attempt(
    Id id,
    int thread,
    int name,
    String options,
    boolean recovery,
    long askedAt,
    long answeredAt,
    Answer answer,
    long token,
    long believedFrom,
    long believedUntil,
    long doubtedAt,
    long closeBeganAt,
    long closedAt,
    Closing closing,
    Write write,
    long maxWaitMillis,
    long minHoldMillis,
    long stalledNanos,
    Nested nested) {

  /**
   * The identity of an attempt.
   *
   * @param life the number of processes that the worker had before
   */
  record Id(int worker, int life, int index) {
    @Override
    public String toString() {
      return worker + "-" + life + "-" + index;
    }
  }

  /** The outcome of a call. */
  enum Answer {
    /** None was recorded. */
    NONE,
    GRANTED,
    TAKEN,
    STORE_FAILED,
    /** An exception that no page names. */
    UNDOCUMENTED,
    /** An OutOfMemoryError, in a worker without memory or threads. */
    STARVED
  }

  /** The outcome of {@code close()}. */
  enum Closing {
    NONE,
    NORMAL,
    LOST,
    UNDOCUMENTED,
    /** An OutOfMemoryError, in a worker without memory or threads; it was called again. */
    STARVED
  }

  /** The answer to a thread that asked for a lock that it held. */
  enum Nested {
    /** It did not ask, or had lost the lock when the answer came. */
    NONE,
    /** A handle with the same token; or, if no thread owns the lease, "taken". */
    RIGHT,
    /** Anything else, while it held the lock before and after. */
    WRONG
  }

  /** The outcome of a guarded write. */
  enum Write {
    NONE,
    BEGUN,
    DONE,
    REFUSED,
    /** No answer: it may have been made. */
    UNANSWERED,
    UNDOCUMENTED
  }

  /** A span of time, by {@link System#nanoTime}. */
  record Interval(long from, long until) {
    boolean overlaps(Interval other) {
      return from < other.until && other.from < until;
    }
  }

  boolean granted() {
    return answer == Answer.GRANTED;
  }

  /** Whether it asked for what it would share with others that read. */
  boolean reads() {
    return isOf(Call.Kind.READ);
  }

  boolean isOf(Call.Kind kind) {
    return options.contains(Call.text(kind));
  }

  /**
   * Returns the time for which the lease was certainly valid, by its holder's clock; null if none:
   *
   * <ul>
   *   <li>A lease whose {@code close()} returned normally was not lost before {@code close()}
   *       began, so it was valid from the return of the call that acquired it.
   *   <li>Any other was valid at some moment within each check that said so. A lease that has ended
   *       does not come back, so it was valid from the end of the first such check to the beginning
   *       of the last.
   * </ul>
   *
   * <p>A worker that froze between a check and its record only shortens the time.
   */
  @Nullable
  Interval sure() {
    long from = closing == Closing.NORMAL ? answeredAt : believedFrom;
    long until = closing == Closing.NORMAL ? closeBeganAt : believedUntil;
    return granted() && from != 0 && from < until ? new Interval(from, until) : null;
  }

  /** Returns a line with times in milliseconds since the beginning of the schedule. */
  String text(long beginNanos) {
    StringBuilder text = new StringBuilder();
    text.append("worker ").append(id.worker).append('.').append(id.life);
    text.append(" thread ").append(thread).append(", attempt ").append(id.index);
    text.append(", name ").append(name).append(", ").append(options);
    text.append(": asked ").append(millis(askedAt, beginNanos));
    text.append(", ").append(answer).append(' ').append(millis(answeredAt, beginNanos));
    if (granted()) {
      text.append(", token ").append(token);
      text.append(", believed ").append(millis(believedFrom, beginNanos));
      text.append(" to ").append(millis(believedUntil, beginNanos));
      text.append(", not ").append(millis(doubtedAt, beginNanos));
      text.append(", close ").append(millis(closeBeganAt, beginNanos));
      text.append(' ').append(closing).append(' ').append(millis(closedAt, beginNanos));
      if (nested != Nested.NONE) {
        text.append(", asked again: ").append(nested);
      }
      if (write != Write.NONE) {
        text.append(", guarded write ").append(write);
      }
    }
    return text.toString();
  }

  static String millis(long nanos, long beginNanos) {
    return nanos == 0 ? "-" : String.format(Locale.ROOT, "%.3f", (nanos - beginNanos) / 1e6);
  }
}
