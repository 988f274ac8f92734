package io.holdfast.lock.torture;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * One call of a worker's thread that wanted a lock, and what came of it. All times are
 * {@link System#nanoTime} of the machine, which is one clock for all of its processes; zero: it did
 * not come to that, or the worker was killed before.
 *
 * @param name the lock's number
 * @param options what kind of call and lease, for humans
 * @param recovery whether it was made after the last fault, to see that the name is free
 * @param askedAt before the call
 * @param answeredAt after the call
 * @param believedFrom after {@code isHeld()} was first true
 * @param believedUntil before {@code isHeld()} was last true
 * @param doubtedAt after {@code isHeld()} was false
 * @param closeBeganAt before {@code close()}
 * @param closedAt after {@code close()}
 * @param maxWaitMillis how long the call may wait; negative: for ever
 * @param minHoldMillis for how long the name stays taken, however early the lease is closed
 * @param stalledNanos for how long the whole process did not run, or had no memory, while it asked
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
   * Which one it is.
   *
   * @param life how many processes this worker had before
   */
  record Id(int worker, int life, int index) {
    @Override
    public String toString() {
      return worker + "-" + life + "-" + index;
    }
  }

  /** The outcome of a call. */
  enum Answer {
    /** Not, as far as its file tells. */
    NONE,
    GRANTED,
    TAKEN,
    STORE_FAILED,
    /** By an exception that no page speaks of. */
    UNDOCUMENTED,
    /** By an OutOfMemoryError, in a worker without memory or threads. */
    STARVED
  }

  /** The outcome of {@code close()}. */
  enum Closing {
    NONE,
    NORMAL,
    LOST,
    UNDOCUMENTED,
    /** By an OutOfMemoryError, in a worker without memory or threads; it was called again. */
    STARVED
  }

  /** The answer to a thread that asked for a lock which it had. */
  enum Nested {
    /** It did not ask, or the answer came when it had lost the lock. */
    NONE,
    /** A handle with the same token; or, if the lease is no thread's, that the lock is taken. */
    RIGHT,
    /** Anything else, while it had it before and after. */
    WRONG
  }

  /** The outcome of a guarded write. */
  enum Write {
    NONE,
    BEGUN,
    DONE,
    REFUSED,
    /** Without an answer: it may have been made. */
    UNANSWERED,
    UNDOCUMENTED
  }

  /** From when to when. */
  record Interval(long from, long until) {
    boolean overlaps(Interval other) {
      return from < other.until && other.from < until;
    }
  }

  boolean granted() {
    return answer == Answer.GRANTED;
  }

  /**
   * The time for which the lease surely stood, by its holder's clock; null: none. It is not a guess
   * to either side:
   *
   * <ul>
   *   <li>A lease whose {@code close()} returned normally was not lost before {@code close()}
   *       began, so it stood from the return of the call that acquired it.
   *   <li>Any other stood at some moment within each look that said so. A lease that is over does
   *       not come back, so it stood from the end of the first of them to the beginning of the
   *       last.
   * </ul>
   *
   * <p>So whatever froze the worker between a look and its note only shortens the interval.
   */
  @Nullable
  Interval sure() {
    long from = closing == Closing.NORMAL ? answeredAt : believedFrom;
    long until = closing == Closing.NORMAL ? closeBeganAt : believedUntil;
    return granted() && from != 0 && from < until ? new Interval(from, until) : null;
  }

  /** For humans, with times in milliseconds from the beginning of the schedule. */
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
