package io.holdfast.lock.spi;

/** The result of a release. */
public enum ReleaseOutcome {
  /**
   * The grant had the lock and has it no more, or keeps the name taken only until its minimum hold
   * is over.
   */
  RELEASED,
  /** The grant did not have the lock any more; nothing was changed. */
  ALREADY_LOST
}
