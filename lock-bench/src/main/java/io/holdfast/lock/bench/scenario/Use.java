package io.holdfast.lock.bench.scenario;

/**
 * The right that a thread takes in a lock. Each weighs something in the {@link Arena}, and what is
 * inside a lock at the same time must not weigh more than allowed.
 */
public enum Use {
  /** The mutex: nobody else is inside. */
  MUTEX(1, 1),
  /** One of the permits of a semaphore. */
  PERMIT(1, Use.PERMITS),
  /** The read lock: other readers may be inside, and no writer. */
  READ(1, Use.EVERYTHING),
  /** The write lock: nobody else is inside, neither a writer nor a reader. */
  WRITE(Use.EVERYTHING, Use.EVERYTHING);

  /** The number of permits of each semaphore. */
  public static final int PERMITS = 3;

  /** More than there are readers. */
  private static final long EVERYTHING = 1L << 32;

  private final long weight;
  private final long weightMax;

  Use(long weight, long weightMax) {
    this.weight = weight;
    this.weightMax = weightMax;
  }

  long weight() {
    return weight;
  }

  /** Returns what all that is inside may weigh together. */
  long weightMax() {
    return weightMax;
  }
}
