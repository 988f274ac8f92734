package io.holdfast.lock.internal.time;

/**
 * The time for which a grant is trusted. Immutable; each answer of the store makes a new one.
 *
 * <p>Deadlines count from before the request was sent, as in the leases of Gray and Cheriton
 * (1989): the store starts its own count later, so ours ends first. A {@link DriftAllowance} is
 * subtracted from each. It is calculated from the whole time that the store promised, and not from
 * the time left: that shrinks, and the clocks' imperfection does not.
 *
 * <p>A grant, a renewal or an extension can move the deadline later: to "before the request + TTL -
 * allowance(TTL)" and no further. A verification can't, except for a fixed lease that is trusted
 * for less than its TTL at a time (since its session may end sooner), and then not beyond the
 * lease's own end.
 *
 * @param answeredNanos when the last answer that extended the grant arrived
 * @param deadlineNanos when the lease ends unless it is confirmed again
 * @param limitNanos the latest deadline that any confirmation can give it
 * @param allowanceNanos the drift allowance of the store's last promise
 * @param freshUntilNanos until when enough time is left for another holder to start
 * @param wallAheadNanosMin how far the wall clock was ahead of the monotonic one before the
 *     requests that the deadline is based on: the least of their distances, since a pause during a
 *     reading can make one too small. A suspension shows as a rise above it ({@link Clocks})
 */
public record Validity(
    long answeredNanos,
    long deadlineNanos,
    long limitNanos,
    long allowanceNanos,
    long freshUntilNanos,
    long wallAheadNanosMin) {

  /**
   * Makes the validity that follows from a grant.
   *
   * @param validForNanos the time that the store promised, counted from the request
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
   * Returns the validity after the store's answer to a verification.
   *
   * <p>If the machine slept, that time is missing from our count to the deadline. If the wall clock
   * shows a sleep, only what the store's answer proves is kept: a later deadline would still lack
   * the time of the sleep. If it shows none, the wall clock's least distance is not raised, so that
   * short sleeps add up.
   *
   * <p>If a renewal was answered between the verification's request and its answer, a shorter time
   * means nothing. Otherwise the answer is the latest news: if the store's end comes before our
   * deadline even when counted from the answer, the store's clock jumped by more than the
   * allowance, and the deadline is moved earlier.
   *
   * @param leftNanos the time that the store said is left, counted from the request
   * @param extendable whether the answer may move the deadline later, up to the limit
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
   * Returns the validity after the store extended a lease. A later end that was promised before is
   * kept, unless this answer is the latest news and disproves it, as in {@link #verified}.
   *
   * @param validForNanos the time that the store promised, counted from the request
   * @param limitNanos the latest deadline that any confirmation can give it from now on
   */
  public Validity extended(
      ClockReading asked, long validForNanos, long limitNanos, long answeredNanos) {
    Validity promised = of(asked, validForNanos, limitNanos, answeredNanos);
    boolean newest = asked.nanos() - this.answeredNanos >= 0;
    boolean slept = newest && isOutrun(asked.wallAheadNanos());
    boolean endsSooner = newest && answeredNanos + validForNanos - deadlineNanos < 0;
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

  /** Whether the deadline has been reached. */
  public boolean isPast(long nowNanos) {
    return nowNanos - deadlineNanos >= 0;
  }

  /**
   * Whether the wall clock has run ahead by more than half of the allowance, so that time is
   * missing from our count.
   */
  public boolean isOutrun(long wallAheadNanos) {
    return wallAheadNanos - wallAheadNanosMin - allowanceNanos / 2 > 0;
  }

  /**
   * Whether enough time is left for another holder to start, and neither clock casts doubt on that.
   */
  public boolean isFresh(ClockReading now) {
    return freshUntilNanos - now.nanos() > 0 && !isOutrun(now.wallAheadNanos());
  }
}
