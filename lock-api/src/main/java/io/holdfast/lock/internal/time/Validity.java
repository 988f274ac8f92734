package io.holdfast.lock.internal.time;

/**
 * The time for which a grant is trusted. Immutable; each answer of the store makes a new one.
 *
 * <p>Deadlines count from before the question was sent, as in the leases of Gray and Cheriton
 * (1989): the store starts its own count later, so ours ends first. From each a
 * {@link DriftAllowance} is taken, of the whole time that the store promised: what is left of that
 * time shrinks, and the clocks' imperfection does not.
 *
 * <p>A grant, a renewal or an extension can move the deadline later: to "before the request + TTL -
 * allowance(TTL)" and no further. A mere verification can't, except for a fixed lease that is
 * trusted for less than its TTL at a time (its session may end sooner), and then not beyond the
 * fixed lease's own end.
 *
 * @param answeredNanos when the last answer that extended it arrived
 * @param deadlineNanos when the lease ends if nothing confirms it again
 * @param limitNanos the latest deadline that any confirmation can give it
 * @param allowanceNanos the drift allowance of the store's last promise
 * @param freshUntilNanos until when enough is left for somebody else to start on
 * @param wallAheadNanosMin the least distance by which the wall clock was ahead of the monotonic
 *     one when a question was sent that the deadline rests on; a suspension shows as a rise above
 *     it, since the engine's wall clock is never set back ({@link Clocks})
 */
public record Validity(
    long answeredNanos,
    long deadlineNanos,
    long limitNanos,
    long allowanceNanos,
    long freshUntilNanos,
    long wallAheadNanosMin) {

  /**
   * A promise of the store: its grant.
   *
   * @param validForNanos what the store promised, counted from the question
   * @param limitNanos the latest deadline that any confirmation can give it
   */
  public static Validity of(
      ClockReading asked, long validForNanos, long limitNanos, long answeredNanos) {
    long allowanceNanos = DriftAllowance.ofNanos(validForNanos);
    return new Validity(
        answeredNanos,
        Nanos.earlier(limitNanos, asked.nanos() + validForNanos - allowanceNanos),
        limitNanos,
        allowanceNanos,
        asked.nanos() + validForNanos / 2,
        asked.wallAheadNanos());
  }

  /**
   * After the store's answer to a verification.
   *
   * <p>Time for which the machine slept is missing from our count to the deadline. Where the wall
   * clock says so, only what the store proves is kept; else the doubt would be forgiven and the
   * time still be missing, again and again. Where it does not, its least lead stays what it was, so
   * that short sleeps add up.
   *
   * <p>A verification that shows less time than a renewal which came between its question and its
   * answer means nothing. Otherwise it is the newest that is known: if the store's end comes before
   * our deadline even when counted from the answer, the store's clock jumped by more than the
   * allowance, and the deadline is moved earlier.
   *
   * @param leftNanos the time that the store said is left, counted from the question
   * @param extendable whether it may move the deadline later, up to the limit
   */
  public Validity verified(
      ClockReading asked, long leftNanos, boolean extendable, long answeredNanos) {
    boolean newest = asked.nanos() - this.answeredNanos >= 0;
    boolean slept = newest && isOutrun(asked.wallAheadNanos());
    boolean endsSooner = newest && answeredNanos + leftNanos - deadlineNanos < 0;
    long provedNanos = asked.nanos() + leftNanos - allowanceNanos;
    long nextDeadlineNanos = deadlineNanos;
    if (slept || endsSooner) {
      nextDeadlineNanos = Nanos.earlier(deadlineNanos, provedNanos);
    } else if (extendable) {
      nextDeadlineNanos = Nanos.later(deadlineNanos, Nanos.earlier(limitNanos, provedNanos));
    }
    return new Validity(
        this.answeredNanos,
        nextDeadlineNanos,
        limitNanos,
        allowanceNanos,
        freshUntilNanos,
        slept ? asked.wallAheadNanos() : leastWallAhead(asked));
  }

  /**
   * After the store gave a fixed lease more time. An earlier promise of a later end stands, unless
   * something speaks against it, as in {@link #verified}.
   *
   * @param validForNanos what the store promised, counted from the question
   * @param limitNanos the latest deadline that any confirmation can give it from now on
   */
  public Validity extended(
      ClockReading asked, long validForNanos, long limitNanos, long answeredNanos) {
    Validity promised = of(asked, validForNanos, limitNanos, answeredNanos);
    boolean slept = isOutrun(asked.wallAheadNanos());
    boolean endsSooner = answeredNanos + validForNanos - deadlineNanos < 0;
    if (promised.deadlineNanos - deadlineNanos >= 0 || slept || endsSooner) {
      return promised;
    }
    return new Validity(
        answeredNanos,
        deadlineNanos,
        limitNanos,
        allowanceNanos,
        freshUntilNanos,
        leastWallAhead(asked));
  }

  private long leastWallAhead(ClockReading asked) {
    return Math.min(wallAheadNanosMin, asked.wallAheadNanos());
  }

  /** Whether the deadline has come. */
  public boolean isPast(long nowNanos) {
    return nowNanos - deadlineNanos >= 0;
  }

  /** Whether the wall clock has run ahead by more than half of the allowance: time is missing. */
  public boolean isOutrun(long wallAheadNanos) {
    return wallAheadNanos - wallAheadNanosMin - allowanceNanos / 2 > 0;
  }

  /** Whether enough is left for somebody to start on it, and no clock speaks against that. */
  public boolean isFresh(ClockReading now) {
    return freshUntilNanos - now.nanos() > 0 && !isOutrun(now.wallAheadNanos());
  }
}
