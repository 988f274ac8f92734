package io.holdfast.lock.internal;

import io.holdfast.lock.spi.TimeSource;

/**
 * For how long an answer of the store is good.
 *
 * <p>Deadlines count from before the question was sent, as TigerBeetle and the leases of Gray and
 * Cheriton (1989) do: the store starts its own count later, so ours ends first.
 *
 * @param askedAtNanos when the question was sent; of two answers, the one to the later counts
 * @param deadlineNanos when the lease ends if nothing confirms it again
 * @param freshUntilNanos until when enough is left for somebody else to start on
 * @param wallAheadNanosMax how far the wall clock may be ahead of the monotonic one
 */
record Term(long askedAtNanos, long deadlineNanos, long freshUntilNanos, long wallAheadNanosMax) {

  static Term of(Moment asked, long validForNanos) {
    return new Term(
        asked.nanos(),
        asked.nanos() + validForNanos - Margins.driftNanos(validForNanos),
        asked.nanos() + validForNanos / 2,
        asked.wallAheadNanos() + Margins.wallAheadNanos(validForNanos));
  }

  /** Whether enough is left for somebody to start on it, and no clock speaks against that. */
  boolean isFresh(TimeSource time) {
    return freshUntilNanos - time.nanos() > 0 && !isOutrun(WallClock.aheadNanos(time));
  }

  /** Whether the wall clock is further ahead than it may be. */
  boolean isOutrun(long wallAheadNanos) {
    return wallAheadNanos - wallAheadNanosMax > 0;
  }

  /** Ends then, if not sooner. */
  Term cappedAt(long capNanos) {
    return deadlineNanos - capNanos > 0
        ? new Term(askedAtNanos, capNanos, freshUntilNanos, wallAheadNanosMax)
        : this;
  }
}
