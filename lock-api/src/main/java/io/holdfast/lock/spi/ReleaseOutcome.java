package io.holdfast.lock.spi;

/** The result of a release. */
public enum ReleaseOutcome {
  /**
   * The grant had the lock and has it no more, or keeps the name taken only until its minimum hold
   * is over.
   */
  RELEASED,
  /**
   * The grant does not have the lock any more, and the store cannot tell whether a release did
   * that: an earlier request, of this call or another, may have been carried out.
   */
  RELEASED_OR_LOST,
  /** The grant did not have the lock any more; nothing was changed. */
  ALREADY_LOST
}
