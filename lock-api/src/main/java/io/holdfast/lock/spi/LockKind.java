package io.holdfast.lock.spi;

/**
 * The kinds of lock. The same name with two kinds means two locks, so the kind is part of every
 * stored name. The exception is {@link #READ}: it is a side of the {@link #MUTEX} of the same name.
 * Constants may be added.
 */
public enum LockKind {
  /** One holder at a time. */
  MUTEX('m'),
  /**
   * A semaphore: as many holders at a time as it has permits ({@link Claim#permits()}), each with a
   * permit of its own ({@link Grant#permit()}). Only on stores that let it pass in
   * {@link LockStore#checkKind}.
   */
  PERMIT('p'),
  /**
   * A read lock: any number of holders at a time, which together exclude the {@link #MUTEX} of the
   * same name, its write lock. Only on stores that let it pass in {@link LockStore#checkKind}.
   */
  READ('r');

  private final char code;

  LockKind(char code) {
    this.code = code;
  }

  /** Returns the letter for this kind in stored names; it never changes. */
  public char code() {
    return code;
  }
}
