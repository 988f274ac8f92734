package io.holdfast.lock.spi;

/**
 * The kinds of lock. The same name with two kinds means two locks, so the kind is part of every
 * stored name.
 */
public enum LockKind {
  /** One holder at a time. */
  MUTEX('m'),
  /**
   * A semaphore: as many holders at a time as it has permits, each with a permit of its own. Only
   * for a {@link PermitStore}.
   */
  PERMIT('p');

  private final char code;

  LockKind(char code) {
    this.code = code;
  }

  /** Returns the letter for this kind in stored names; it never changes. */
  public char code() {
    return code;
  }
}
