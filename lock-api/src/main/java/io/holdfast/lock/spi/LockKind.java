package io.holdfast.lock.spi;

/**
 * The sort of lock that a name belongs to. Two kinds with the same name are two locks, so the kind
 * is part of every stored name. Constants may be added (shared locks, permits).
 */
public enum LockKind {
  /** One holder at a time. */
  MUTEX('m');

  private final char code;

  LockKind(char code) {
    this.code = code;
  }

  /** The letter for this kind in stored names; never changes. */
  public char code() {
    return code;
  }
}
