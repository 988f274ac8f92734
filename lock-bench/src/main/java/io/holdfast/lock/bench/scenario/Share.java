package io.holdfast.lock.bench.scenario;

/**
 * A holder's part of a lock: those of all who are inside at a time may not be more than the whole.
 *
 * @param weight the size of the part
 * @param whole the size of the whole lock
 */
public record Share(long weight, long whole) {
  private static final long WHOLE = 1L << 32;

  /** The lock as a whole. */
  public static final Share ALL = new Share(WHOLE, WHOLE);

  /** A reader's part: more of them than there are threads fit in, but none beside a writer. */
  public static final Share READ = new Share(1, WHOLE);

  /** Returns one of so many permits. */
  public static Share permitOf(int permits) {
    return new Share(1, permits);
  }
}
